"""Copy a report without hosts, users, addresses, paths, commands, calls, ranges and comments, to .ncu-rep or .ncu-repz.

``scrub`` writes the copy; counters, source texts and machine code stay, and ``keep`` selects metrics by name.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from pathlib import Path

from ncuview.base.errors import ReportError, UsageError
from ncuview.base.files import is_folder, replace_file
from ncuview.base.report_files import seal, sidecar
from ncuview.reader import wire
from ncuview.reader.call_stacks import NATIVE, NVTX, PYTHON
from ncuview.reader.identity import Identity, Removed, find_identity
from ncuview.reader.packing import ENDING as COMPRESSED
from ncuview.reader.packing import packed
from ncuview.reader.precheck import checked_header, damaged, read_report
from ncuview.reader.wire import Block, Span, WireError

# Block header: the fields to keep, so that an unknown field is left out. 5 is written anew.
_COUNTS_AND_STRINGS = frozenset({1, 2, 4, 7, 8, 9})
_STRINGS = (4, 1)
_PAYLOAD_SIZE = 5
_KEPT_INSIDE = {
    3: frozenset({2, 6, 8}),  # session: creation time, devices, versions of ncu and CUDA
    6: frozenset({1}),  # process: its number
}

# Result item.
_METRIC = 13
_METRIC_NAME = 1
_SECTION = 17
_STACKS = frozenset({NATIVE, PYTHON, NVTX})


def scrub(source: Path, target: Path, keep: Callable[[str], bool] | None = None) -> None:
    """Write a copy of a report that does not identify its maker, with all counters, source texts and machine code.

    The time, the devices and the versions of Nsight Compute and CUDA stay. Folders of source files get names without
    meaning. A target that ends in .ncu-repz is compressed. With ``keep``, only metrics whose name it accepts are
    copied, and no sections.

    Raises:
        ReportError: ``source`` is no complete report, or the copy would still identify its maker.
        UsageError: ``target`` cannot be written.
    """
    if is_folder(target):
        raise UsageError(f"{target} is a folder", hint="Name the file to write.")
    data = read_report(source)
    checked_header(data, source)
    try:
        identity, copy = _scrubbed(data, keep)
    except WireError as error:
        raise damaged(source, data, error) from error
    try:
        _write(copy, target, identity)
    except OSError as error:
        raise UsageError(
            f"{target} cannot be written: {error.strerror}", hint="Name a file in a folder that exists and has room."
        ) from error


def _scrubbed(data: bytes, keep: Callable[[str], bool] | None) -> tuple[Identity, bytes]:
    rejected = _rejected_metrics(data, keep) if keep else ()
    removed: list[Removed] = []
    contents: list[tuple[bytes, bytes]] = []
    for block in wire.blocks(data):
        header, left_out = _divided(data, block.header)
        removed += left_out
        contents.append((header, _payload(data, block, rejected, with_sections=not keep)))
    identity = find_identity(data, removed)
    return identity, identity.overwritten(wire.encode_report(contents))


def _divided(data: bytes, header: Span) -> tuple[bytes, list[Removed]]:
    """A block header's fields to keep, without its payload's size, and those to leave out."""
    header_copy = bytearray()
    removed: list[Removed] = []
    for field in wire.fields(data, header):
        if field.number in _COUNTS_AND_STRINGS:
            header_copy += data[field.start : field.end]
        elif field.number in _KEPT_INSIDE:
            inner = bytearray()
            for part in wire.fields(data, field.content):
                if part.number in _KEPT_INSIDE[field.number]:
                    inner += data[part.start : part.end]
                else:
                    removed.append(Removed((field.number, part.number), part.content))
            header_copy += wire.encode_field(field.number, bytes(inner))
        elif field.number != _PAYLOAD_SIZE:
            removed.append(Removed((field.number,), field.content))
    return bytes(header_copy), removed


def _payload(data: bytes, block: Block, rejected: Container[int], *, with_sections: bool) -> bytes:
    left_out = _STACKS if with_sections else _STACKS | {_SECTION}
    return b"".join(
        wire.encode_item(
            data[slice(*item)] if index < block.sources else _reduced_result(data, item, rejected, left_out)
        )
        for index, item in enumerate(wire.items(data, block))
    )


def _reduced_result(data: bytes, item: Span, rejected: Container[int], left_out: Container[int]) -> bytes:
    return b"".join(
        data[field.start : field.end]
        for field in wire.fields(data, item)
        if field.number not in left_out
        and not (field.number == _METRIC and _number(data, field.content, _METRIC_NAME) in rejected)
    )


def _rejected_metrics(data: bytes, keep: Callable[[str], bool]) -> set[int]:
    """The indices, in the report's strings, of the names of metrics to leave out; all blocks add strings."""
    strings = [
        data[slice(*string)] for block in wire.blocks(data) for string in wire.contents(data, block.header, *_STRINGS)
    ]
    return {index for index, string in enumerate(strings) if not keep(string.decode("utf-8", "replace"))}


def _number(data: bytes, message: Span, number: int) -> int:
    return next((field.value for field in wire.fields(data, message) if field.number == number), 0)


def _write(copy: bytes, target: Path, identity: Identity) -> None:
    checked_header(copy, target)
    if kind := identity.remaining(copy):
        raise ReportError(
            f"{target} was not written: a {kind} of the session would remain in it",
            hint="Profile again without it in names, arguments and sources.",
        )
    was_sealed = sidecar(target).exists()
    sidecar(target).unlink(missing_ok=True)  # the old report's checksum would not match
    replace_file(target, packed(copy) if target.suffix == COMPRESSED else copy)
    if was_sealed:
        seal(target)
