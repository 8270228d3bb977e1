"""The types of a source change (``Replacement``, ``Change``, ``Edit``, ``NoEdit``), and its diff for `git apply`.

``Edit.diff`` returns the diff as text; ``Refused`` is raised where a change cannot be made mechanically.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

_CONTEXT = 3
_QUOTED = {0x07: "a", 0x08: "b", 0x09: "t", 0x0A: "n", 0x0B: "v", 0x0C: "f", 0x0D: "r", 0x22: '"', 0x5C: "\\"}


class Refused(Exception):
    """A change cannot be made mechanically, for the reason in the text. ``propose`` converts it to a NoEdit."""


@dataclass(frozen=True, order=True)
class Replacement:
    """The bytes from ``start`` to before ``end`` become ``text``; an insertion where the two are equal."""

    start: int
    end: int
    text: str


@dataclass(frozen=True)
class Change:
    """The replacements that a change makes in a source.

    Attributes:
        title: The change, as an imperative: ``Pad tile by one column``.
        assumes: A condition that the source does not prove; empty where there is none.
        replacements: They do not overlap; insertions at one place keep their order.
        reorders: The floating-point operations whose order changes, as a clause: ``the sum of in``; empty where the
            results stay byte-identical.
        approximates: Whether results are less precise, which ``assumes`` says.
    """

    title: str
    assumes: str
    replacements: tuple[Replacement, ...]
    reorders: str = ""
    approximates: bool = False

    def __post_init__(self) -> None:
        """Check the replacements.

        Raises:
            Refused: Two overlap, because code is broken over lines in an unusual way.
        """
        for earlier, later in pairwise(sorted(self.replacements, key=_place)):
            if later.start < earlier.end:
                raise Refused("code is broken over lines in a way that is not understood")


@dataclass(frozen=True)
class NoEdit:
    """No mechanical change, and the ``reason`` as a sentence."""

    reason: str


@dataclass(frozen=True)
class Edit:
    """A change of the user's own source, as a diff to show or apply. Nothing is written."""

    title: str
    """The change, as an imperative."""
    assumes: str
    """A condition that the source does not prove; empty where there is none."""
    source: bytes
    """The unchanged file."""
    replacements: tuple[Replacement, ...]
    reorders: str = ""
    """The floating-point operations whose order changes, as a clause; empty where results stay byte-identical."""
    approximates: bool = False
    """Whether results are less precise: whether that is enough only their user can say."""

    @property
    def edited(self) -> str:
        """The file with the change, bytes that are no UTF-8 as ``surrogateescape`` gives them."""
        return replaced(self.source, 0, self.replacements).decode("utf-8", "surrogateescape")

    def diff(self, path: str) -> str:
        """The unified diff, with a/ and b/ before the path.

        Written to a file it must keep its line ends, and bytes that are no UTF-8 stay as they were:
        ``Path.write_bytes(diff.encode("utf-8", "surrogateescape"))``.

        Args:
            path: The file relative to where ``git apply`` runs.
        """
        blocks = list(_blocks(self.source, self.replacements))
        name = path.removeprefix("./").lstrip("/")
        header = f"--- {_file_name('a/' + name)}\n+++ {_file_name('b/' + name)}\n"
        return header + "".join(_hunks(_lines(self.source), blocks))


def edit_between(title: str, before: str, after: str) -> Edit:
    """The edit that makes one text of another, line by line; both with ``surrogateescape``."""
    from difflib import SequenceMatcher

    source, target = (text.encode("utf-8", "surrogateescape") for text in (before, after))
    old, new = _lines(source), _lines(target)
    starts = list(accumulate(map(len, old), initial=0))
    made = (
        Replacement(starts[first], starts[last], b"".join(new[begin:end]).decode("utf-8", "surrogateescape"))
        for kind, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if kind != "equal"
    )
    return Edit(title, "", source, tuple(made))


@dataclass(frozen=True)
class _Block:
    """The lines from ``first`` to before ``last`` become ``after``."""

    first: int
    last: int
    after: Sequence[bytes]


def _place(replacement: Replacement) -> tuple[int, int]:
    """Insertions at one place keep their order."""
    return replacement.start, replacement.end


def _lines(text: bytes) -> list[bytes]:
    """The lines as git counts them: only a line feed ends a line."""
    lines = [line + b"\n" for line in text.split(b"\n")]
    lines[-1] = lines[-1][:-1]
    return lines if lines[-1] else lines[:-1]


def _blocks(source: bytes, replacements: Sequence[Replacement]) -> Iterator[_Block]:
    """Each run of changed lines with its new lines, without equal lines at its ends."""
    before = _lines(source)
    starts = [0]
    for line in before:
        starts.append(starts[-1] + len(line))
    for first, last, inside in _touched(starts, replacements):
        after = _lines(replaced(source[starts[first] : starts[last]], starts[first], inside))
        old = before[first:last]
        head = _common(old, after)
        tail = _common(old[head:][::-1], after[head:][::-1])
        yield _Block(first + head, last - tail, after[head : len(after) - tail])


def _touched(
    starts: Sequence[int], replacements: Sequence[Replacement]
) -> Iterator[tuple[int, int, list[Replacement]]]:
    """Runs of changed lines (the first, the one after the last) with the replacements in them."""
    from bisect import bisect_right

    found: list[tuple[int, int, list[Replacement]]] = []
    for each in sorted(replacements, key=_place):
        first = min(bisect_right(starts, each.start) - 1, len(starts) - 2)
        last = min(bisect_right(starts, max(each.start, each.end - 1)), len(starts) - 1)
        if found and first <= found[-1][1]:
            run = found.pop()
            found.append((run[0], max(run[1], last), [*run[2], each]))
        else:
            found.append((first, last, [each]))
    yield from found


def replaced(text: bytes, offset: int, replacements: Sequence[Replacement]) -> bytes:
    """A part of a source, which begins at an offset, with the replacements inside it."""
    parts, at = [], 0
    for each in sorted(replacements, key=_place):
        parts += [text[at : each.start - offset], each.text.encode("utf-8", "surrogateescape")]
        at = each.end - offset
    return b"".join([*parts, text[at:]])


def _common(one: Sequence[bytes], other: Sequence[bytes]) -> int:
    """How many lines at the beginning are equal."""
    return next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _hunks(before: Sequence[bytes], blocks: Sequence[_Block]) -> Iterator[str]:
    groups: list[list[_Block]] = [[blocks[0]]]
    for earlier, later in pairwise(blocks):
        if later.first - earlier.last > 2 * _CONTEXT:
            groups.append([])
        groups[-1].append(later)
    added = 0
    for group in groups:
        begin = max(0, group[0].first - _CONTEXT)
        end = min(len(before), group[-1].last + _CONTEXT)
        growth = sum(len(block.after) - (block.last - block.first) for block in group)
        old, new = _range(begin, end - begin), _range(begin + added, end - begin + growth)
        yield f"@@ -{old} +{new} @@\n"
        at = begin
        for block in group:
            yield from _marked(" ", before[at : block.first])
            yield from _marked("-", before[block.first : block.last])
            yield from _marked("+", block.after)
            at = block.last
        yield from _marked(" ", before[at:end])
        added += growth


def _range(begin: int, count: int) -> str:
    return f"{begin + 1 if count else begin},{count}"


def _marked(mark: str, lines: Sequence[bytes]) -> Iterator[str]:
    for line in lines:
        text = mark + line.decode("utf-8", "surrogateescape")
        yield text if text.endswith("\n") else f"{text}\n\\ No newline at end of file\n"


def _file_name(name: str) -> str:
    """The name in git's form: quoted where a header cannot hold it as it is, and ended by a tab where it has spaces."""
    raw = name.encode("utf-8", "surrogateescape")
    if all(0x20 <= byte < 0x7F and byte not in _QUOTED for byte in raw):
        return f"{name}\t" if " " in name else name
    letters = (
        "\\" + _QUOTED[byte] if byte in _QUOTED else chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}"
        for byte in raw
    )
    return f'"{"".join(letters)}"'
