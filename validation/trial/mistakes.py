"""Wrong edits of kernels: ``wrong_edits()`` gives each with its class, its source and what the edit would claim.

They come from three places: the seeds of ``tests/trial/seeds.py``, written by hand; the rules of
``tests/trial/mutations.py`` in kernels of the catalogue; and the rules below in edits that ncuview's own makers write,
which are what a bug in a maker would produce. Of each origin some are taken, of the classes that are rarest so far, so
that the choice is always the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from ncuview.catalogue.kernels import find_kernel
from ncuview.patch import Edit, changes_for
from ncuview.patch.patch import edit_between
from tests.trial.emulated import replaced
from tests.trial.mutations import mutations_of
from tests.trial.seeds import SEEDS, Seed, kernel_of

KERNELS = (
    "transposeNaive", "transposeCoalesced", "transposeNoBankConflicts", "transposeDiagonal", "copySharedMem",
    "transformSmem", "transformSmemPad1", "matrixTranspose", "matrixTransposeSharedPad", "mtran_coalesced",
    "mmul", "mmul_tiled", "mmul_transposedBs_padded", "MatrixMulKernel", "mmul_jam_j",
    "reduce_v1", "reduce_v3", "reduce_v5_1", "reduce_shuffle", "rowSums_block",
    "histogram_global", "histogram_shared", "histogram_warp", "count_block", "count_warp", "count_coarsened",
    "row_smooth", "column_smooth", "row_smooth_four", "sobel_global", "sobel_shared",
    "preciseSine", "preciseExponential", "loopRolled", "pairs_tiled",
)  # fmt: skip
"""Of the catalogue, in which mistakes are made."""
EDITED = (
    "transposeNaive", "matrixTranspose", "transformNaiveRow", "transpose_parallel_per_element", "mtran",
    "mmul", "mmul_1x128", "reduce_v1", "reduce_v3", "reduce_v4_2", "histogram_global", "histogram_match",
    "count_global", "count_warp", "scalarLoads", "mayAlias", "constRestrict", "row_smooth", "rowSums_quarter",
    "copySharedMem", "sobel_shared", "preciseSine", "shortRowsByWarp", "mmul_tiled",
)  # fmt: skip
"""Of the catalogue, whose edits by makers get mistakes."""
EACH_KERNEL, EACH_EDIT = 2, 3
"""Mistakes of each kernel and of each edit."""
MULTIPLE = "n is a multiple of 4 in every launch that the front matter allows"
WITHOUT_EFFECT = {
    "copySharedMem: kernel: a dropped barrier 0": "each thread reads what it wrote itself",
    "copySharedMem: kernel: a barrier of a warp instead of the block 0": "each thread reads what it wrote itself",
    "transformNaiveRow: Process 4 elements per thread: <= instead of < 0": "a condition keeps the part inside",
    "reduce_v1: Process 4 elements per thread: a barrier of a warp instead of the block 0": "the round that follows"
    " reads within the warp",
    "shortRowsByWarp: Process 4 elements per thread: a dropped barrier 0": "nothing is shared",
    "shortRowsByWarp: Process 4 elements per thread: a barrier of a warp instead of the block 0": "nothing is shared",
    "count_warp: Process 4 elements per thread: a dropped barrier 0": "nothing is shared",
    "count_warp: Process 4 elements per thread: a barrier of a warp instead of the block 0": "nothing is shared",
    "mayAlias: Access in and out in vectors of 4 elements: a vector access after the end 0": MULTIPLE,
    "mayAlias: Access in and out in vectors of 4 elements: <= instead of < 0": MULTIPLE,
    "constRestrict: Access in and out in vectors of 4 elements: a vector access after the end 0": MULTIPLE,
    "constRestrict: Access in and out in vectors of 4 elements: a lost tail 0": MULTIPLE,
    "count_coarsened: kernel: a lost tail 0": "where n is no multiple of the threads, the kernel itself reads too far",
}
"""Names of edits that the rules make and that are no mistakes, with the reason."""


@dataclass(frozen=True)
class WrongEdit:
    """An edit with a mistake.

    Attributes:
        kernel: The kernel.
        origin: ``seed``, ``kernel``, or the title of the maker's edit that has the mistake.
        kind: The class of the mistake.
        number: Which one of its kind and origin, from 0.
        edit: The edit, with what the maker says that it reorders and assumes.
    """

    kernel: str
    origin: str
    kind: str
    number: int
    edit: Edit

    @property
    def name(self) -> str:
        """What no other wrong edit is called."""
        return f"{self.kernel}: {self.origin}: {self.kind} {self.number}"


Rewrite = Callable[[re.Match[str], str], str | None]
"""A place and the complete text -> the text instead, None where the mistake cannot be made there."""


def _text(replacement: str) -> Rewrite:
    return lambda found, _: found.expand(replacement)


def _smaller(found: re.Match[str], _: str) -> str | None:
    return None if found[2] == "1" else f"{found[1]}[{found[2]} - 1]"


def _without_padding(found: re.Match[str], text: str) -> str | None:
    declared = re.search(rf"__shared__ \w+ {found[1]}\[\w+\]\[(\w+) \+ 1\]", text)
    return f"(&{found[1]}[0][0])[({found[2]}) * {declared[1]} + {found[3]}]" if declared else None


def _unrolled(found: re.Match[str], _: str) -> str:
    name, first, end, body = found.groups()
    bodies = " ".join(re.sub(rf"\b{name}\b", f"({name} + {step})", body) for step in range(3))
    return f"for (int {name} = {first}; {name} + 2 < {end}; {name} += 3) {{ {bodies} }}"


_INDEX = r"\[([^\[\]]+)\]"
_OF_EDITS: Sequence[tuple[str, str, Rewrite]] = (
    ("a dropped barrier", r"__syncthreads\(\);", _text("")),
    ("a barrier of a warp instead of the block", r"__syncthreads\(\);", _text("__syncwarp();")),
    (
        "an early return before a barrier",
        r"__syncthreads\(\);",
        _text("if (threadIdx.x % 32 == 0) return; __syncthreads();"),
    ),
    ("padding without the index", rf"\b(?<!float )(\w*tile){_INDEX}{_INDEX}(?=\s*[=;*])", _without_padding),
    ("a tile without its last column", r"(__shared__ \w+ \w+\[\w+\])\[(\w+) \+ 1\]", _smaller),
    ("a swapped index", r"\b(\w*tile)\[(row|column)\]\[(row|column)\]", _text(r"\1[\3][\2]")),
    ("an index that is no bijection", r"\b(?:4|2) \* (blockIdx\.[xyz]) \+ part\b", _text(r"\1 + part")),
    ("an index that is no bijection", r"\bblockIdx\.x \* (?:blockDim\.x|[A-Z_]+) \+ (?=column|row)", _text("")),
    ("an index that is no bijection", r"\b(\w+) \* n \+ (\w+)\] = tile", _text(r"\2 * n + \1] = tile")),
    ("a lost tail", r"\bpart < (\d+)", _text(r"part < \1 - 1")),
    ("a lost tail", r"\bfirst \+ k < n\b", _text("first + k + 1 < n")),
    ("a lost tail", r"\bstep < (\d+)", _text(r"step < \1 / 2")),
    ("a lost tail", r"\bthread < (\d+)", _text(r"thread < \1 - 32")),
    ("a lost tail", r"\bbin < (\d+)", _text(r"bin < \1 - 1")),
    ("a vector access after the end", r"\bn - first >= \d+", _text("n - first >= 1")),
    ("a misaligned vector access", r"&(in|out)\[first\]\)", _text(r"&\1[first + 1])")),
    ("<= instead of <", r"\b(part|bin|thread|k|place) < ([\w +]+?)(?=;)", _text(r"\1 <= \2")),
    ("an unroll without remainder", r"for \(int (\w+) = (\w+); \1 < ([^;&]+); \1\+\+\)\s+([^\n;{]+;)", _unrolled),
    ("a private histogram without the merge", r"atomicAdd\(&?\w+(?:\[bin\])?, (?:bins\[bin\]|\w+)\);", _text(";")),
    ("a private histogram that is not cleared", r"\bbins\[bin\] = 0;", _text(";")),
    ("an addition instead of an atomic", r"atomicAdd\(&(bins\[[^;]*\]), ([^;]*)\);", _text(r"\1 += \2;")),
    ("a mask without half of the lanes", r"0xffffffff", _text("0xffffu")),
    ("a shuffle over inactive lanes", r"(\w+ \+= __shfl_down_sync)", _text(r"if (threadIdx.x % 32 < 24) \1")),
    ("a sum that skips lanes", r"\blanes = 16\b", _text("lanes = 8")),
    ("a result of one warp only", r"threadIdx\.x % 32 == 0\)\n", _text("threadIdx.x == 0)\n")),
    ("a sum that does not begin with zero", r"(?<!\()\b((?:float|unsigned|int) \w+ = 0);", _text(r"\1 + 1;")),
    ("an index that is shifted", r"\[k - first\]", _text("[k - first + 1]")),
    ("half of the blocks", r'(?m)^grid = \["([^"]+)"', _text(r'grid = ["(\1) / 2"')),
)
"""In lines that the maker wrote."""


def wrong_edits() -> list[WrongEdit]:
    """All wrong edits, always the same and in the same order."""
    made = [_of_seed(seed, number) for number, seed in enumerate(SEEDS)]
    seen = Counter(each.kind for each in made)
    for kernel in KERNELS:
        made += _rarest(_of_kernel(kernel), EACH_KERNEL, seen)
    for kernel in EDITED:
        for edit in _edits_of(kernel):
            made += _rarest(_of_edit(kernel, edit), EACH_EDIT, seen)
    return [each for each in made if each.name not in WITHOUT_EFFECT]


def original_of(wrong: WrongEdit) -> str:
    """The source that a wrong edit changes."""
    return wrong.edit.source.decode("utf-8", "surrogateescape")


def _of_seed(seed: Seed, number: int) -> WrongEdit:
    kernel, reorders = kernel_of(seed.kernel), "a sum" if seed.reordered else ""
    edit = _edit("Make a mistake", _source(kernel.path), replaced(kernel, seed.wrong), reorders, "")
    return WrongEdit(seed.kernel, "seed", seed.kind, number, edit)


def _edit(title: str, before: str, after: str, reorders: str, assumes: str) -> Edit:
    between = edit_between(title, before, after)
    return Edit(title, assumes, between.source, between.replacements, reorders)


def _source(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _rarest(found: Iterator[WrongEdit], count: int, seen: Counter[str]) -> list[WrongEdit]:
    """Some of the wrong edits, each of another kind, of the kinds that were taken least so far."""
    first: dict[str, WrongEdit] = {}
    for each in found:
        first.setdefault(each.kind, each)
    chosen = sorted(first.values(), key=lambda each: seen[each.kind])[:count]
    seen.update(each.kind for each in chosen)
    return chosen


def _of_kernel(name: str) -> Iterator[WrongEdit]:
    kernel, numbers = find_kernel(name), Counter[str]()
    before = _source(kernel.path)
    for mutation in mutations_of(kernel):
        yield WrongEdit(
            name, "kernel", mutation.kind, numbers[mutation.kind], _edit("", before, mutation.source, "", "")
        )
        numbers[mutation.kind] += 1


def _edits_of(name: str) -> list[Edit]:
    """The different edits that makers write for a kernel without a finding."""
    kernel = find_kernel(name)
    found: dict[str, Edit] = {}
    for _, change in changes_for(_source(kernel.path), kernel.path.name, kernel.function, None):
        if isinstance(change, Edit):
            found.setdefault(change.edited, change)
    return list(found.values())


def _of_edit(kernel: str, edit: Edit) -> Iterator[WrongEdit]:
    before, text = edit.source.decode("utf-8", "surrogateescape"), edit.edited
    kept, numbers = {line.strip() for line in before.splitlines()}, Counter[str]()
    for kind, pattern, rewrite in _OF_EDITS:
        for found in re.finditer(pattern, text):
            line = text[text.rfind("\n", 0, found.start()) + 1 : text.find("\n", found.start())].strip()
            barrier = line == "__syncthreads();"
            instead = rewrite(found, text)
            if instead is None or (line in kept and not barrier):
                continue
            after = text[: found.start()] + instead + text[found.end() :]
            yield WrongEdit(
                kernel, edit.title, kind, numbers[kind], _edit(edit.title, before, after, edit.reorders, edit.assumes)
            )
            numbers[kind] += 1
