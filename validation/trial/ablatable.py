"""Count how many first findings of labelled launches have an ablation that compiles and passes the static guards.

    python -m validation.trial.ablatable [--programs 60] [--findings 2] [--minutes 30] validation/trial/ablatable.md

Takes labelled programs in a random order that is always the same, and of each the first launches with advice. After
the given minutes no further program is begun. Needs nvcc and cuobjdump, and no GPU.
"""

from __future__ import annotations

import random
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import typer

from ncuview.catalogue.machine_code import KernelCode, code_of_cubin
from ncuview.patch.patch import Refused
from ncuview.patch.program import Program
from ncuview.profiling.machine import find_nvcc
from ncuview.trial.ablations import Ablation, ablation, kind_of
from ncuview.trial.guards import static_guards
from validation.cases import diagnosed
from validation.labelled import REPORTS, sources

COMPILERS = 2
PASSED = "passed"


@dataclass(frozen=True)
class Asked:
    """A first finding of a labelled launch."""

    program: str
    kernel: str
    rule: str
    lines: tuple[int, ...]


@dataclass(frozen=True)
class Answer:
    """What became of it: ``passed``, or ``refused``, ``no ablation``, ``does not compile`` or a guard, and why."""

    asked: Asked
    kind: str
    what: str
    why: str = ""


def main(out: Path, programs: int = 60, findings: int = 2, minutes: float = 30.0) -> None:
    """Write the page."""
    chosen = random.Random(0).sample(sorted(sources()), programs)
    end = time.monotonic() + 60 * minutes
    with ThreadPoolExecutor(COMPILERS) as pool:
        reached = pool.map(lambda name: _answers(name, findings) if time.monotonic() < end else None, chosen)
        found = [answers for answers in reached if answers is not None]
    out.write_text(_page([answer for answers in found for answer in answers], len(found)), encoding="utf-8")


def _asked(program: str, findings: int) -> Iterator[Asked]:
    advised = [launch for launch in diagnosed(REPORTS / f"{program}.ncu-repz").launches if launch.findings]
    for launch in advised[:findings]:
        first = launch.findings[0]
        # A line of CUDA's own headers is none of the program; without lines, the complete kernel is meant.
        own = f"p{int(program[1:]):02}.cu"
        found = (place for line in first.where for place in line.called_from or (line,))
        places = [place for place in found if place.file.endswith(f"/{own}")]
        yield Asked(program, launch.kernel, first.rule.code, tuple(sorted({place.line for place in places})))


def _answers(program: str, findings: int) -> list[Answer]:
    source = sources()[program]
    with tempfile.TemporaryDirectory() as name:
        folder, found = Path(name), list[Answer]()
        originals: Mapping[str, KernelCode] | None = None
        for asked in _asked(program, findings):
            try:
                kind = kind_of(asked.rule)
            except Refused as refused:
                found.append(Answer(asked, "", "no ablation", str(refused)))
                continue
            try:
                made = _made(source, asked, kind)
            except Refused as refused:
                found.append(Answer(asked, kind, "refused", _plain(str(refused))))
                continue
            if originals is None:
                originals = _compiled(source, source.read_bytes(), folder)
            found.append(_guarded(source, asked, kind, made, originals, folder))
        for answer in found:
            print(program, answer.asked.kernel, answer.asked.rule, answer.kind, answer.what, answer.why, flush=True)
        return found


def _made(source: Path, asked: Asked, kind: str) -> Ablation:
    program = Program.read(source.read_bytes().decode("utf-8", "surrogateescape"), source.name)
    return ablation(program.kernel(asked.kernel), kind, asked.lines)


def _guarded(
    source: Path, asked: Asked, kind: str, made: Ablation, originals: Mapping[str, KernelCode], folder: Path
) -> Answer:
    try:
        variants = _compiled(source, made.of(source.read_bytes()), folder)
    except subprocess.CalledProcessError as failed:
        errors = [line for line in failed.stderr.splitlines() if "error" in line]
        return Answer(asked, kind, "does not compile", errors[0] if errors else failed.stderr[-200:])
    named = [symbol for symbol in originals if f"{len(asked.kernel)}{asked.kernel}" in symbol and symbol in variants]
    if not named:
        return Answer(asked, kind, "does not compile", "the kernel is missing in the machine code")
    said = static_guards(kind, originals[named[0]], variants[named[0]])
    bounds = "in bounds" if made.in_bounds else "needs memcheck"
    return Answer(asked, kind, f"guard: {said.failed}" if said.failed else PASSED, said.why or bounds)


def _compiled(source: Path, text: bytes, folder: Path) -> Mapping[str, KernelCode]:
    file, cubin = folder / source.name, folder / "code.cubin"
    file.write_bytes(text.replace(b'"../harness.h"', f'"{source.parent.parent / "harness.h"}"'.encode()))
    command = [str(find_nvcc()), "-O3", "-std=c++17", "-arch=sm_90", "-lineinfo", "-cubin", "-o", str(cubin), str(file)]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return {each.symbol: each for each in code_of_cubin(cubin)}


def _plain(reason: str) -> str:
    """A reason without the names and numbers of one kernel."""
    words = (word if not any(letter.isdigit() for letter in word) else "N" for word in reason.split())
    return " ".join(words)


def _page(answers: Sequence[Answer], programs: int) -> str:
    kinds = sorted({answer.kind for answer in answers if answer.kind})
    with_kind = [answer for answer in answers if answer.kind]
    passed = [answer for answer in with_kind if answer.what == PASSED]
    in_bounds = sum(answer.why == "in bounds" for answer in passed)
    said = (
        f"{len(answers)} first findings of launches of {programs} labelled programs. For {len(with_kind)} the rule has"
        f" a kind of ablation. {len(passed)} compile and pass the static guards; {in_bounds} of these are in bounds by"
        " construction, the others need compute-sanitizer. Written by `python -m validation.trial.ablatable`."
    )
    lines = [
        "# First findings with an ablation",
        "",
        said,
        "",
        "| kind | findings | made | compile and pass |",
        "| --- | --- | --- | --- |",
    ]
    for kind in kinds:
        of_kind = [answer for answer in answers if answer.kind == kind]
        made = [answer for answer in of_kind if answer.what != "refused"]
        lines.append(f"| {kind} | {len(of_kind)} | {len(made)} | {sum(each.what == PASSED for each in made)} |")
    lines += ["", "| what is missing | findings |", "| --- | --- |"]
    missing = Counter(_reason(answer) for answer in answers if answer.what != PASSED)
    lines += [f"| {reason} | {count} |" for reason, count in sorted(missing.items(), key=lambda pair: (-pair[1], pair))]
    return "\n".join(lines) + "\n"


def _reason(answer: Answer) -> str:
    if answer.what in {"refused", "no ablation"}:
        return f"{answer.what}: {answer.why}"
    return f"{answer.kind}: {answer.what}"


if __name__ == "__main__":
    typer.run(main)
