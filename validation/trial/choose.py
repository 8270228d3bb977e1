"""Choose the kernels that validation/trial/run.py tries, and write them to targets.txt.

    python3 -m validation.trial.choose

Of the catalogue: the naive kernels of five ladders, and others that makers apply to. Of the labelled programs: kernels
that their authors call finished, and others that makers apply to, as few as possible of one program, in turns of the
sets in which programs were written, and only where more than ``elements_per_thread`` applies. Kernels with more edits
come first. What is left open is drawn with a fixed seed. Further kernels are of later programs, for more attempts.
Authors are wrong about some kernels that they call finished; those that reach nine tenths of what the H200 allows are
finished as measured. Of these only such are taken in which changes are tried although no finding asks for them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import typer

from ncuview.catalogue.kernels import all_kernels, find_kernel
from ncuview.patch import STRUCTURAL, Edit, Maker
from ncuview.patch.patch import Refused
from ncuview.patch.program import Program
from ncuview.records.diagnosis import FINISHED_SHARE
from validation.cases import diagnosed
from validation.labelled import REPORTS, labels_of, sets, sources

TARGETS = Path(__file__).with_name("targets.txt")
SEED = 32
NAIVE = ("transposeNaive", "reduce_v1", "histogram_global", "mmul", "count_global")
"""The first steps of five ladders, from which a trial must come close to the last."""
OF_CATALOGUE, FINISHED, OTHERS, FURTHER, MEASURED = 20, 10, 32, 72, 20
LEFT_OUT = ("calibration", "transfers")
"""Families that are about other things than their kernels."""
PROGRAMS = 96
"""The first kernels are of so many labelled programs, by their numbers, the further ones of those after them."""
PROCESSES = 2
MAKERS: Mapping[str, Maker] = {maker.__name__: maker for makers in STRUCTURAL.values() for maker in makers}
ANYWHERE = "elements_per_thread"
"""The maker that applies to most kernels."""


@dataclass(frozen=True)
class Candidate:
    """A kernel that may be a target, and the makers that write an edit of it."""

    target: str
    group: str
    """The set of a labelled program; the family of a catalogue kernel."""
    makers: tuple[str, ...]
    finished: bool = False
    measured: bool = False
    """It is also finished as measured, and changes of it are tried."""

    @property
    def applies(self) -> bool:
        """Whether more than the maker that applies to most kernels does."""
        return not set(self.makers) <= {ANYWHERE}

    @property
    def rank(self) -> tuple[bool, int]:
        """What is preferred comes first."""
        return not self.applies, -len(self.makers)


def edits_of(path: Path, kernel: str) -> dict[str, Edit]:
    """The different edits that makers write for a kernel without a finding, by the makers' names."""
    program, found = Program.read(path.read_bytes().decode("utf-8", "surrogateescape"), str(path)), dict[str, Edit]()
    for name, maker in MAKERS.items():
        try:
            change = maker(program.kernel(kernel), [])
        except Refused:
            continue
        edit = Edit(change.title, change.assumes, program.data, change.replacements, change.reorders)
        if edit.edited not in {each.edited for each in found.values()}:
            found[name] = edit
    return found


def source_of(target: str) -> tuple[Path, str]:
    """The file and the kernel of a target."""
    if "/" in target:
        program, _, kernel = target.partition("/")
        return sources()[program], kernel
    found = find_kernel(target)
    return found.path, found.function


def candidates_of(program: str) -> list[Candidate]:
    """The kernels of a labelled program."""
    group = next((each.name for each in sets() if program in each.programs), "")
    finished = {label["kernel"]: bool(label.get("near_peak")) for label in labels_of(program)}
    defined = Program.read(sources()[program].read_bytes().decode("utf-8", "surrogateescape"), "p.cu").functions
    measured = {
        each.kernel
        for each in diagnosed(REPORTS / f"{program}.ncu-repz").launches
        if each.attained >= FINISHED_SHARE and not each.is_near_floor
    }
    return [
        Candidate(
            f"{program}/{kernel}",
            group,
            tuple(edits_of(sources()[program], kernel)),
            near_peak,
            near_peak and kernel in measured,
        )
        for kernel, near_peak in finished.items()
        if kernel in defined
    ]


def chosen(candidates: Sequence[Candidate], count: int, taken: Counter[str]) -> list[str]:
    """Some candidates: one of each group in turn, of its programs the one that was taken least, by their ranks."""
    groups: dict[str, list[Candidate]] = {}
    for each in candidates:
        groups.setdefault(each.group, []).append(each)
    found: list[str] = []
    while len(found) < count and any(groups.values()):
        for left in groups.values():
            if left and len(found) < count:
                best = min(left, key=lambda each: (taken[_program(each.target)], each.rank))
                left.remove(best)
                taken[_program(best.target)] += 1
                found.append(best.target)
    return found


def _program(target: str) -> str:
    return target.partition("/")[0] if "/" in target else ""


def main() -> None:
    """Write the targets."""
    draw = random.Random(SEED)
    catalogue = [
        Candidate(each.name, each.text.family, tuple(edits_of(each.path, each.function)))
        for each in all_kernels()
        if each.name == each.function
        and each.name not in NAIVE
        and each.text.family not in {"calibration", "transfers"}
    ]
    with ProcessPoolExecutor(PROCESSES) as pool:
        found = list(pool.map(candidates_of, sources(), chunksize=4))
        first, later = (
            [candidate for candidates in part for candidate in candidates]
            for part in (found[:PROGRAMS], found[PROGRAMS:])
        )
    taken, lines = Counter[str](), list[str]()
    for title, candidates, count in _parts(catalogue, first, later):
        draw.shuffle(candidates)
        left = [each for each in candidates if each.target not in lines]
        lines += [f"# {title}", *chosen(left, count, taken)]
    TARGETS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _parts(
    catalogue: Sequence[Candidate], programs: Sequence[Candidate], later: Sequence[Candidate]
) -> Iterator[tuple[str, list[Candidate], int]]:
    yield "naive kernels of ladders", [Candidate(name, name, ()) for name in NAIVE], len(NAIVE)
    yield "kernels of the catalogue", [each for each in catalogue if each.applies], OF_CATALOGUE - len(NAIVE)
    yield "finished, as their authors say", [each for each in programs if each.finished], FINISHED
    for title, of, count in (("other", programs, OTHERS), ("further", later, FURTHER)):
        candidates = [each for each in of if each.applies and not each.finished]
        yield f"{title} kernels of labelled programs", candidates, count
    yield "finished, as measured", [each for each in (*programs, *later) if each.measured and each.makers], MEASURED


if __name__ == "__main__":
    typer.run(main)
