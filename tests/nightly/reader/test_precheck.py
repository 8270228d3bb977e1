"""Bad files are refused: plain ones, cut ones, overruns, and bytes changed at random."""

from __future__ import annotations

import gzip
import json
import os
import random
import socket
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.reading import repeated
from ncuview.base.errors import ReportDamaged, ReportEmpty, ReportError, ReportUnreadable
from ncuview.base.paths import shipped
from ncuview.base.report_files import seal
from ncuview.reader import wire
from ncuview.reader.framing import ReportHeader
from ncuview.reader.packing import packed
from ncuview.reader.precheck import checked_header, precheck, read_report
from tests.reader import builder

COMPLETE = builder.report(launches=3)
PACKED = packed(COMPLETE)
HEADER = wire.MAGIC + b"\x02\0\0\0\x08\x07"
NO_WAY_TO_READ = (
    "does not exist|is empty|is not an Nsight Compute report|is a folder|is a pipe or device|cannot be read"
)


File = Callable[..., Path]


@pytest.fixture
def file(tmp_path: Path) -> File:
    def write(data: bytes, name: str = "x.ncu-rep") -> Path:
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def length(number: int) -> bytes:
    return number.to_bytes(4, "little")


def version(number: int) -> bytes:
    return wire.MAGIC + wire.encode_item(wire.encode_field(1, number)) + COMPLETE[len(HEADER) :]


def one_block(header: bytes, payload: bytes = b"") -> bytes:
    return HEADER + wire.encode_item(header) + payload


def items_of(count: int) -> bytes:
    """The header of a block with so many launches in four bytes each."""
    return wire.encode_field(2, count) + wire.encode_field(5, 4 * count)


def one_item(item: bytes, count: int = 1) -> tuple[bytes, bytes]:
    """Header and payload of a block with such launches."""
    payload = wire.encode_item(item) * count
    return wire.encode_field(2, count) + wire.encode_field(5, len(payload)), payload


def many_fields() -> tuple[bytes, bytes]:
    return one_item(b"\x08\0" * 99_999, 21)


def test_a_complete_report_names_its_ncu_its_date_and_its_number_of_launches(file: File) -> None:
    assert precheck(file(COMPLETE)) == ReportHeader("2025.3.1", builder.CREATED, 3)


def test_a_report_without_session_details_is_read_all_the_same(file: File) -> None:
    data = wire.encode_report([builder.block(kernels=[b"", b""])])
    assert precheck(file(data)) == ReportHeader("", None, 2)


def test_ranges_command_lists_and_graphs_are_launches(file: File) -> None:
    counts = wire.encode_field(7, 1) + wire.encode_field(8, 2) + wire.encode_field(9, 3)
    assert precheck(file(wire.encode_report([(counts, wire.encode_item(b"") * 6)]))).results == 6


def test_a_creation_time_beyond_the_calendar_is_no_error(file: File) -> None:
    data = wire.encode_report([builder.block(session=wire.encode_field(2, 2**63), kernels=[b""])])
    assert precheck(file(data)).created is None


@pytest.mark.parametrize(
    ("data", "error"),
    [
        pytest.param(b"", ReportUnreadable, id="empty"),
        pytest.param(bytes(4096), ReportUnreadable, id="zeros"),
        pytest.param(random.Random(1).randbytes(4096), ReportUnreadable, id="random"),
        pytest.param(b'{"launches": []}', ReportUnreadable, id="JSON"),
        pytest.param(gzip.compress(COMPLETE), ReportUnreadable, id="gzip"),
        pytest.param(b"\x28\xb5\x2f\xfd" + bytes(100), ReportUnreadable, id="compressed report under this name"),
        pytest.param(wire.MAGIC[:3], ReportUnreadable, id="part of the magic"),
        pytest.param(wire.MAGIC, ReportDamaged, id="magic only"),
        pytest.param(HEADER, ReportDamaged, id="file header only"),
        pytest.param(wire.MAGIC + length(65) + bytes(65), ReportDamaged, id="file header too long"),
        pytest.param(wire.MAGIC + length(2**32 - 1) + b"\x08\x07", ReportDamaged, id="file header overruns"),
        pytest.param(COMPLETE + b"\0", ReportDamaged, id="a byte follows"),
        pytest.param(COMPLETE + bytes(4096), ReportDamaged, id="zeros follow"),
        pytest.param(COMPLETE + COMPLETE, ReportDamaged, id="two files in one"),
        pytest.param(HEADER + length(0), ReportDamaged, id="block without header"),
        pytest.param(HEADER + length(2**32 - 1) + b"\x08\0", ReportDamaged, id="block header overruns"),
        pytest.param(one_block(wire.encode_field(5, 2**31 - 1)), ReportDamaged, id="payload of 2 GiB"),
        pytest.param(one_block(wire.encode_field(5, 2**32 - 1)), ReportDamaged, id="payload of 4 GiB"),
        pytest.param(one_block(wire.encode_field(2, 2**32 - 1)), ReportDamaged, id="2^32 launches announced"),
        pytest.param(one_block(b"\x10\x01"), ReportDamaged, id="fewer items than announced"),
        pytest.param(one_block(b"\x10\x00\x28\x04", bytes(4)), ReportDamaged, id="more items than announced"),
        pytest.param(one_block(b"\x10\x01\x28\x04", length(2**32 - 1)), ReportDamaged, id="item overruns"),
        pytest.param(one_block(b"\x10\x01\x28\x02", bytes(2)), ReportDamaged, id="item length cut off"),
        pytest.param(one_block(b"\x10\x01\x28\x07", length(3) + b"abc"), ReportDamaged, id="item is no message"),
        pytest.param(HEADER + wire.encode_item(b"\x08\0") * 200_000, ReportEmpty, id="200,000 empty blocks"),
        pytest.param(HEADER + wire.encode_item(b"\x08\0") * 2_000_000, ReportDamaged, id="2,000,000 empty blocks"),
        pytest.param(one_block(items_of(2_000_000), bytes(8_000_000)), ReportDamaged, id="2,000,000 empty launches"),
        pytest.param(one_block(*one_item(b"\x08\0" * 2_000_000)), ReportDamaged, id="2,000,000 fields in a launch"),
        pytest.param(one_block(*many_fields()), ReportDamaged, id="2,000,000 fields in 21 launches"),
        pytest.param(
            HEADER + wire.encode_item(b"\x08\0" * 2_000_000), ReportDamaged, id="a header of 2,000,000 fields"
        ),
        pytest.param(wire.encode_report(builder.session_blocks()), ReportEmpty, id="no launch"),
    ],
)
def test_a_bad_file_is_refused_with_a_hint(file: File, data: bytes, error: type[ReportError]) -> None:
    with pytest.raises(error) as refused:
        precheck(file(data))
    assert "x.ncu-rep" in str(refused.value)
    assert refused.value.hint


def plain_bad_input(chance: random.Random) -> bytes:
    """Something that is no report, or none any more."""
    some = chance.randbytes(chance.randrange(3_000))
    number = chance.choice([0, 1, 6, 8, 9, 100, 2**31, 2**63])
    return chance.choice(
        [
            b"",
            bytes(chance.randrange(3_000)),
            b"\xff" * chance.randrange(3_000),
            some,
            wire.MAGIC[: chance.randrange(5)],
            wire.MAGIC + some,
            HEADER + some,
            HEADER + wire.encode_item(some),
            version(number),
            COMPLETE + some + b"\0",
            COMPLETE + COMPLETE[len(HEADER) - 1 :],
            COMPLETE[chance.randrange(1, len(COMPLETE)) :],
            COMPLETE[::-1],
            COMPLETE.decode("latin-1").encode("utf-16"),
            COMPLETE.hex().encode(),
            COMPLETE.replace(b"\n", b"\r\n"),
            gzip.compress(COMPLETE),
            packed(some),
            packed(COMPLETE)[: chance.randrange(4, 40)],
            b"PK\3\4" + some,
            b"\x7fELF" + some,
            b'<?xml version="1.0"?>\n<report/>\n' * 20,
            json.dumps({"launches": [{"name": "k"}]}).encode(),
            b"ID,Kernel Name,Metric Value\n0,k,1\n",
            b"==ERROR== ERR_NVGPUCTRPERM\n" * 9,
            one_block(wire.encode_field(2, number)),
            one_block(wire.encode_field(5, number)),
            one_block(*one_item(some, 3)),
        ]
    )


@pytest.mark.parametrize("name", ["x.ncu-rep", "x.ncu-repz"])
def test_five_hundred_plain_bad_inputs_are_refused(file: File, name: str) -> None:
    chance = random.Random(7)
    for _ in range(500):
        path = file(plain_bad_input(chance), name)
        with pytest.raises(ReportError) as refused:
            precheck(path)
        assert refused.value.exit_code == 3
        assert refused.value.hint


def test_damage_is_said_with_its_place(file: File) -> None:
    with pytest.raises(ReportDamaged, match=f"is damaged at byte {len(COMPLETE):,} of {len(COMPLETE) + 1:,}: "):
        precheck(file(COMPLETE + b"\0"))


def test_damage_has_the_id_of_the_failure_catalogue(file: File) -> None:
    for path in (file(COMPLETE[:-1]), file(wire.MAGIC), file(packed(COMPLETE)[:-9], "x.ncu-repz")):
        with pytest.raises(ReportDamaged) as refused:
            precheck(path)
        assert refused.value.id == "NCU-CORRUPT"


@pytest.mark.parametrize("number", [8, 9, 100])
def test_a_newer_format_asks_for_an_upgrade(file: File, number: int) -> None:
    with pytest.raises(ReportUnreadable, match="newer report format") as refused:
        precheck(file(version(number)))
    assert "pip install --upgrade ncu-report" in refused.value.hint
    assert refused.value.id == "NCU-VERSION"


@pytest.mark.parametrize("number", [0, 1, 6])
def test_an_older_format_is_refused(file: File, number: int) -> None:
    with pytest.raises(ReportUnreadable, match="older report format"):
        precheck(file(version(number)))


def test_a_compressed_report_is_read_as_the_report_in_it(file: File) -> None:
    assert precheck(file(packed(COMPLETE), "x.ncu-repz")) == precheck(file(COMPLETE))


def test_a_report_must_be_compressed_as_its_name_says_since_nvidias_reader_goes_by_it(file: File) -> None:
    with pytest.raises(ReportUnreadable, match="is not compressed"):
        precheck(file(COMPLETE, "x.ncu-repz"))
    with pytest.raises(ReportUnreadable, match="is a compressed report") as refused:
        precheck(file(packed(COMPLETE)))
    assert ".ncu-repz" in refused.value.hint


@given(cut=st.integers(5, len(PACKED) - 1))
def test_a_compressed_report_that_is_cut_is_damaged(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    path = tmp_path_factory.mktemp("cut") / "x.ncu-repz"
    path.write_bytes(PACKED[:cut])
    with pytest.raises(ReportError):
        precheck(path)


def test_what_unpacks_to_more_than_a_report_can_hold_is_refused_before_it_is_unpacked(file: File) -> None:
    with pytest.raises(ReportUnreadable, match="unpacks to more than"):
        precheck(file(packed(COMPLETE + bytes(10**9)), "x.ncu-repz"))


def test_ten_gigabytes_of_nothing_are_refused(file: File) -> None:
    with pytest.raises(ReportUnreadable, match="unpacks to more than"):
        precheck(file(packed_zeros(10**10), "x.ncu-repz"))


def packed_zeros(size: int) -> bytes:
    """A report with so many zeros after it, compressed piece by piece."""
    compressor = zstandard.ZstdCompressor(level=1).compressobj()
    parts = [compressor.compress(COMPLETE)]
    parts += [compressor.compress(bytes(10**7)) for _ in range(size // 10**7)]
    return b"".join([*parts, compressor.flush()])


def test_a_compressed_file_without_content_is_refused(file: File) -> None:
    with pytest.raises(ReportUnreadable, match="is empty"):
        precheck(file(packed(b""), "x.ncu-repz"))


def test_a_name_of_a_megabyte_is_no_burden(file: File) -> None:
    name = b"k" * 1_000_000
    data = wire.encode_report([builder.block(kernels=[wire.encode_field(5, name)])])
    assert precheck(file(data)).launches[0].mangled == name.decode()


def test_deep_nesting_is_not_followed(file: File) -> None:
    nested = b""
    for _ in range(20_000):
        nested = wire.encode_field(15, nested)
    assert precheck(file(wire.encode_report([builder.block(kernels=[nested])]))).results == 1


def test_what_was_changed_after_it_was_sealed_is_refused_with_or_without_other_damage(file: File) -> None:
    path = file(COMPLETE)
    seal(path)
    assert precheck(path).results == 3
    for changed in (COMPLETE.replace(b"twice", b"twicf"), COMPLETE[:-1]):
        path.write_bytes(changed)
        with pytest.raises(ReportDamaged, match="was changed after it was written"):
            precheck(path)


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe, listener = tmp_path / "pipe", tmp_path / "socket"
    os.mkfifo(pipe)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(listener))
        devices = Path("/dev/null"), Path("/dev/zero")
        for path in (pipe, listener, tmp_path, tmp_path / "missing", tmp_path / "a\0b", *devices):
            with pytest.raises(ReportUnreadable, match=NO_WAY_TO_READ) as refused:
                precheck(path)
            assert refused.value.hint


def test_links_are_followed_unless_they_go_round(file: File, tmp_path: Path) -> None:
    link, circle = tmp_path / "link", tmp_path / "circle"
    link.symlink_to(file(COMPLETE))
    circle.symlink_to(circle)
    assert precheck(link).results == 3
    with pytest.raises(ReportUnreadable, match="cannot be read"):
        precheck(circle)


def test_a_file_that_may_not_be_read_is_refused(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbid(*_: object) -> NoReturn:
        raise PermissionError(13, "Permission denied")

    path = file(COMPLETE)
    monkeypatch.setattr(os, "open", forbid)
    with pytest.raises(ReportUnreadable, match="may not be read") as refused:
        precheck(path)
    assert "sudo" in refused.value.hint


def test_a_file_that_fails_while_it_is_read_is_refused(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> NoReturn:
        raise OSError(5, "Input/output error")

    path = file(COMPLETE)
    monkeypatch.setattr(os, "fdopen", fail)
    with pytest.raises(ReportUnreadable, match="Input/output error"):
        precheck(path)


def test_a_file_beyond_all_reason_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "huge.ncu-rep"
    with path.open("wb") as sparse:
        sparse.truncate(5 << 30)
    with pytest.raises(ReportUnreadable, match="larger than 4,096 MiB"):
        precheck(path)


def test_a_large_report_is_not_taken_into_this_process(file: File) -> None:
    path = file(repeated(read_report(shipped("kernels") / "divergence" / "h200.ncu-repz"), 200))
    tracemalloc.start()
    try:
        assert precheck(path).results == 200
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < path.stat().st_size * 2 / 3


def test_a_report_that_there_is_no_room_for_is_refused(file: File, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> NoReturn:
        raise OSError(28, "No space left on device")

    path = file(COMPLETE)
    monkeypatch.setattr(os, "memfd_create", full)
    with pytest.raises(ReportUnreadable, match="does not fit into memory: No space left") as refused:
        precheck(path)
    assert refused.value.hint


def test_refusing_leaves_no_file_open(tmp_path: Path) -> None:
    before = open_files()
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ReportUnreadable):
            precheck(path)
    assert open_files() == before


def open_files() -> set[str]:
    return {file.name for file in Path("/proc/self/fd").iterdir()}


def test_a_cut_is_refused_or_shows_as_fewer_launches(file: File) -> None:
    check_cuts(builder.report(launches=20), file)


def check_cuts(data: bytes, file: File) -> None:
    """Cut at 320 even places: between two blocks a complete report with fewer launches remains, elsewhere damage."""
    ends = {block.payload.end for block in wire.blocks(data)}
    for place in range(0, len(data), -(-len(data) // 320)):
        launches = launches_or_none(file(data[:place]))
        assert launches is None or (place in ends and launches < launches_of(data))


def launches_of(data: bytes) -> int:
    return checked_header(data, Path("x.ncu-rep")).results


def launches_or_none(path: Path) -> int | None:
    try:
        return precheck(path).results
    except ReportError:
        return None


@given(st.data())
@settings(max_examples=400)
def test_changed_bytes_are_read_or_refused_but_never_crash(data: st.DataObject) -> None:
    changed = bytearray(COMPLETE)
    for _ in range(data.draw(st.integers(1, 8))):
        place = data.draw(st.integers(0, len(changed) - 1))
        old = data.draw(st.integers(0, 8))
        changed[place : place + old] = data.draw(st.binary(max_size=8))
    with suppress(ReportError):
        assert launches_of(bytes(changed)) > 0


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """The recorded transposes, unpacked."""
    path = tmp_path / "recorded.ncu-rep"
    path.write_bytes(read_report(shipped("kernels") / "transpose" / "h200.ncu-repz"))
    return path


def test_a_recorded_report_passes(recorded: Path) -> None:
    header = precheck(recorded)
    assert header.results > 0
    assert header.ncu_version.startswith("20")
    assert header.created is not None


def test_every_cut_of_a_recorded_report_is_refused(recorded: Path, file: File) -> None:
    check_cuts(recorded.read_bytes(), file)
