"""Try changes of many kernels on this GPU, and check what is kept by an oracle that knows nothing of the original.

    python3 -m validation.trial.run OUT [--deadline SECONDS] [--budget SECONDS] [--jobs N] [--turns FILE]
        [--beside N] [TARGET ...]

A TARGET is a kernel of the catalogue, or a kernel of a labelled program, as ``p003/k03b``; without any, those of
``targets.txt``. ``OUT/trials.tsv`` gets a line for each trial: the numbers of attempts, which are changes that were
compiled and run, and of kept ones, the gain, the seconds, what the oracle says, and a digest of the patch.
``OUT/attempts.tsv`` gets a line for each change, and ``OUT/NAME.json`` the document of the trial. Targets in
``trials.tsv`` are left out, so that the command can be repeated until all are there. Several runs may share OUT and a
GPU, each with targets of its own and the same FILE: launches are timed and counted alone, programs are run side by
side, and waits count neither to the seconds nor to the budget. Needs a GPU, nvcc, PyCUDA, compute-sanitizer and, for
diagnoses, ncu.

The oracle of a catalogue kernel is the reference of its front matter; a labelled program compares each of its kernels
with numbers that it computes on the host.
"""

from __future__ import annotations

import fcntl
import math
import os
import shutil
import subprocess
import tempfile
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ncuview.base.errors import NcuviewError
from ncuview.base.paths import shipped
from ncuview.catalogue.compiler import NATIVE
from ncuview.catalogue.kernel_file import load_kernels
from ncuview.catalogue.kernels import find_kernel, launch_of
from ncuview.catalogue.live import compile_all, event_times
from ncuview.pipeline.trials import try_launch, try_program
from ncuview.profiling.machine import find_nvcc
from ncuview.records.diagnosis import Gain
from ncuview.records.trial import Attempt, Decision, Stage, Trial
from ncuview.render.trial import trial_document
from ncuview.trial.stages import Stages
from validation.labelled import HERE, sources
from validation.trial.tables import append, rows_of

TARGETS = Path(__file__).with_name("targets.txt")
COUNTS = ("attempts", "kept", "refuted", "unproven")
COLUMNS = (
    "target",
    *COUNTS,
    "gain",
    "seconds",
    "stopped",
    "oracle",
    "patch",
    "verdict",
    "attained",
    "gpu",
    "budget",
    "beside",
)
"""The columns of ``trials.tsv``. ``verdict`` and ``attained`` are what the diagnosis says of the original, empty where
it is unknown: its verdict, and the share of what its bottleneck attains. ``budget`` is in seconds and ``beside`` the
number of other trials on the machine at the same time; both are empty in rows that are older than these columns."""
ATTEMPT = ("target", "step", "rule", "optimization", "decision", "predicted", "bound", "measured", "title", "reason")
"""The columns of ``attempts.tsv``; gains are the best estimate."""
CHECKED = "NCUVIEW_CHECKED"
"""The environment variable of ``validation/harness.h``: the one kernel whose results a program checks."""
ALONE = {"times", "counters"}
"""Stages that other launches would disturb."""
ANY_TIME = {"compile", "machine code", "runs"}
"""Stages that need no turn. Programs run mostly on the host; their kernels are timed one by one on the GPU, and two
versions run in turns, so that launches of another process widen the interval of both."""
RUN: tuple[Decision, ...] = ("kept", "no gain", "refuted", "unproven")
"""What becomes of a change that was compiled and run."""
LEFT_S = 60.0
"""Before the deadline no trial begins."""


def main(
    out: Path,
    targets: Annotated[list[str] | None, typer.Argument(metavar="TARGET")] = None,
    *,
    budget: Annotated[float, typer.Option(metavar="SECONDS", help="For each target.")] = 45.0,
    jobs: Annotated[int, typer.Option(metavar="N", help="Versions compiled at once; 0: as many as processors.")] = 0,
    deadline: Annotated[float, typer.Option(metavar="SECONDS", help="End by then.")] = math.inf,
    turns: Annotated[Path | None, typer.Option(metavar="FILE", help="Take turns at the GPU with other runs.")] = None,
    beside: Annotated[int, typer.Option(metavar="N", help="How many trials others make meanwhile.")] = 0,
) -> None:
    """Try one target after the other."""
    end = time.monotonic() + deadline
    out.mkdir(parents=True, exist_ok=True)
    wanted = targets or listed_targets()
    done = {row["target"] for row in rows_of(out / "trials.tsv")}
    left = [target for target in wanted if target not in done]
    for number, target in enumerate(left):
        if end - time.monotonic() < LEFT_S:
            print(f"deadline: {len(left) - number} targets are left, the first is {target}", flush=True)
            return
        try:
            tried = _program if "/" in target else _kernel
            trial, oracle = tried(target, budget, jobs, Stages(turn=partial(taking_turns, turns)))
        except NcuviewError as failed:
            print(f"{target}: FAILED: {failed}", flush=True)
            continue
        (out / f"{target.replace('/', '-')}.json").write_text(trial_document(trial), encoding="utf-8")
        row = (*_row(target, trial, oracle), f"{budget:.0f}", str(beside))
        append(out / "attempts.tsv", ATTEMPT, [_attempt(target, each) for each in trial.attempts])
        append(out / "trials.tsv", COLUMNS, [row])
        print("  ".join(f"{name} {value}" for name, value in zip(COLUMNS, row, strict=True)), flush=True)


@contextmanager
def taking_turns(file: Path | None, stage: Stage) -> Iterator[None]:
    """Wait until a stage may use the GPU: with others that compare, alone for times and counters."""
    if file is None or stage in ANY_TIME:
        yield
        return
    with file.open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX if stage in ALONE else fcntl.LOCK_SH)
        yield


def listed_targets() -> list[str]:
    """The targets of ``targets.txt``, without its headings."""
    return [line for line in TARGETS.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]


def _attempt(target: str, each: Attempt) -> tuple[str, ...]:
    gains = map(_best, (each.predicted, each.bound.gain if each.bound else None, each.measured))
    return (target, str(each.step), each.rule, each.optimization, each.decision, *gains, each.title, each.reason)


def _best(gain: Gain | None) -> str:
    return f"{gain.best:.3f}" if gain else ""


def _row(target: str, trial: Trial, oracle: str) -> tuple[str, ...]:
    decisions = Counter(each.decision for each in trial.attempts)
    attempts = sum(decisions[each] for each in RUN)
    counts = (attempts, decisions["kept"], decisions["refuted"], decisions["unproven"])
    patch = f"{zlib.crc32(trial.patch.encode('utf-8', 'surrogateescape')):08x}" if trial.patch else ""
    seconds = f"{trial.seconds['all']:.0f}"
    known = (trial.before.verdict, f"{trial.before.attained:.3f}") if trial.before else ("", "")
    gpu = trial.device.name
    return (target, *map(str, counts), _best(trial.gain), seconds, trial.stopped, oracle, patch, *known, gpu)


def _kernel(name: str, budget: float, jobs: int, stages: Stages) -> tuple[Trial, str]:
    """A trial of a catalogue kernel, and whether what is kept computes what the reference does."""
    kernel = find_kernel(name)
    launch = launch_of(kernel)
    trial = try_launch(
        launch,
        lambda path: next(each for each in load_kernels(path) if each.name == name),
        name,
        budget_s=budget,
        say=lambda _: None,
        jobs=jobs,
        stages=stages,
    )
    return trial, _catalogue_oracle(name, trial) if trial.patch else ""


def _catalogue_oracle(name: str, trial: Trial) -> str:
    kernel, nvcc = find_kernel(name), find_nvcc()
    with tempfile.TemporaryDirectory() as text:
        folder, family = Path(text), kernel.path.parent.name
        shutil.copytree(shipped("kernels") / family, folder / family, ignore=lambda *_: ["h200.ncu-repz"])
        _apply(trial.patch, folder)
        kept = next(each for each in load_kernels(folder / family / kernel.path.name) if each.name == name)
        (folder / "built").mkdir()
        assert nvcc is not None
        try:
            event_times(launch_of(kept), compile_all(nvcc, [kept], folder / "built", NATIVE), folder / "built")
        except NcuviewError as wrong:
            return f"WRONG: {wrong}".replace("\n", " ")
        return "right"


def _program(target: str, budget: float, jobs: int, stages: Stages) -> tuple[Trial, str]:
    """A trial of a kernel of a labelled program, and whether the program still finds its results right."""
    program, _, kernel = target.partition("/")
    with tempfile.TemporaryDirectory() as text:
        tree, source = Path(text) / "tree", sources()[program]
        (tree / "programs").mkdir(parents=True)
        shutil.copy(HERE / "harness.h", tree)
        shutil.copy(source, tree / "programs")
        build = f"nvcc -O3 -std=c++17 -arch=native -lineinfo -o app programs/{source.name}"
        with _checking_only(kernel, source):
            trial = try_program(
                ["./app"], build, "", kernel, tree=tree, budget_s=budget, say=lambda _: None, jobs=jobs, stages=stages
            )
        if not trial.patch:
            return trial, ""
        _apply(trial.patch, tree)
        built = subprocess.run(build, shell=True, cwd=tree, capture_output=True, text=True, check=False)
        ran = subprocess.run([tree / "app"], cwd=tree, capture_output=True, text=True, check=False)
        wrong = built.returncode or ran.returncode
        said = (built.stderr or ran.stderr or ran.stdout)[-200:].replace("\n", " ")
        return trial, f"WRONG: {said}" if wrong else "right"


@contextmanager
def _checking_only(kernel: str, source: Path) -> Iterator[None]:
    """Labelled programs check the results of one kernel alone; of all kernels, where the source does not name it so."""
    named = f'"{kernel}' in source.read_text(encoding="utf-8")
    if named:
        os.environ[CHECKED] = kernel
    try:
        yield
    finally:
        os.environ.pop(CHECKED, None)


def _apply(patch: str, folder: Path) -> None:
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, cwd=folder, input=patch.encode("utf-8", "surrogateescape"), check=True)


if __name__ == "__main__":
    typer.run(main)
