"""Provoke real faults of ncu, programs and machines through the command line, and see what each is called.

    python -m fuzz.provoke_faults --record fuzz/provoked-faults.md

Needs a GPU, ncu and nvcc; some cases need root, and say so where they were left out. fuzz/faulty_programs is
compiled for --arch. Every case has a limit of its own, and the whole one of --budget seconds; what it left out is said.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fuzz.interrupt import MARK, marked
from ncuview.base.paths import shipped
from ncuview.profiling.machine import find_ncu, find_nvcc, gpu_state, ncu_version
from ncuview.profiling.reaper import descendants

ROOT = Path(__file__).resolve().parents[1]
SOURCE = Path(__file__).parent / "faulty_programs" / "app.cu"
LIMIT_S = 60.0


@dataclass(frozen=True)
class Case:
    """One fault.

    Attributes:
        name: What is wrong.
        ids: Names that are right; empty for a run that must work.
        exit_code: What the run must end with, where its name is the first of ``ids``.
        words: Arguments of ``ncuview analyze``.
        variables: Environment variables to set.
        meanwhile: What happens to the run while it runs.
        before: Words in front of the command.
        needs_root: It cannot be provoked by anybody else.
    """

    name: str
    ids: tuple[str, ...]
    exit_code: int
    words: Sequence[str]
    variables: Mapping[str, str] = field(default_factory=dict)
    meanwhile: Callable[[subprocess.Popen[bytes]], object] | None = None
    before: Sequence[str] = ()
    needs_root: bool = False


@dataclass(frozen=True)
class Answer:
    """What ncuview reported of a fault."""

    id: str
    exit_code: int
    sentence: str
    seconds: float
    left: int
    """Processes of the run that were there afterwards."""


def main() -> None:
    """Provoke all faults, and print and record a table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", type=Path)
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--budget", type=float, default=450.0)
    parser.add_argument("--only", default="", help="cases whose names hold this")
    chosen = parser.parse_args()
    nvcc = find_nvcc()
    if nvcc is None:
        sys.exit("needs nvcc")
    started = time.monotonic()
    rows: list[str] = []
    right = wrong = 0
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="faults-")))
        folder.chmod(0o755)
        app = folder / "app"
        subprocess.run([nvcc, f"-arch={chosen.arch}", "-lineinfo", "-o", app, SOURCE], check=True)
        for case in cases(folder, app, stack):  # one by one: each makes its own trouble when it starts
            if chosen.only not in case.name:
                continue
            if why := _left_out(case, started, chosen.budget):
                rows.append(f"| {case.name} | {_names(case)} | not run: {why} | | | | |")
            else:
                answer = provoke(case)
                good = is_right(case, answer)
                right, wrong = right + good, wrong + (not good)
                rows.append(
                    f"| {case.name} | {_names(case)} | {answer.id or 'works'}{'' if good else ' **wrong**'} | "
                    f"{answer.exit_code} | {answer.seconds:.0f} | {answer.left} | {answer.sentence} |"
                )
            print(rows[-1], flush=True)
    page = "\n".join([*_head(right, wrong), *rows, ""])
    print(page.splitlines()[2])
    if chosen.record:
        chosen.record.write_text(page, encoding="utf-8")
    sys.exit(bool(wrong))


def cases(folder: Path, app: Path, stack: ExitStack) -> Iterator[Case]:
    """All faults, cheap and important ones first."""
    run = ["--", str(app)]
    yield Case("nothing is wrong", (), 0, run)
    yield Case("the program exits with 42", ("NCU-APP",), 6, [*run, "exit42"])
    yield Case("the program accesses a bad address", ("NCU-CRASH",), 6, [*run, "segv"])
    yield Case("the program aborts", ("NCU-CRASH",), 6, [*run, "abort"])
    yield Case("the program is killed", ("NCU-CRASH",), 6, [*run, "killed"])
    yield Case("a kernel accesses what is not its own", ("NCU-LAUNCH",), 6, [*run, "illegal"])
    yield Case("a kernel never ends", ("NCU-HANG",), 3, ["--timeout", "25", *run, "hang"])
    yield Case("the program never ends", ("NCU-PART",), 3, ["--timeout", "20", *run, "sleep"])
    yield Case("the program launches nothing", ("NCU-NOKERN",), 3, [*run, "nothing"])
    yield Case("a misspelt kernel", ("NCU-NOKERN",), 3, ["-k", "goood", *run])
    yield Case("a skip beyond the last launch", ("NCU-NOKERN",), 3, ["--launch-skip", "99", *run])
    only = ["--target-processes", "application-only"]
    yield Case("the kernels are a child's, which is left out", ("NCU-NOKERN",), 3, [*only, *run, "child"])
    yield Case("the kernels are a child's", (), 0, [*run, "child"])
    yield Case("an invalid pattern", ("NCU-USAGE", "UsageError"), 2, ["-k", "regex:(", *run])
    yield Case("an unknown option of ncu", ("NCU-USAGE",), 2, ["--ncu-args=--bogus=1", *run])
    yield Case("an unknown section", ("NCU-USAGE",), 2, ["--ncu-args=--section=Bogus", *run])
    yield Case("a program that is not there", ("NCU-USAGE",), 2, ["--", str(folder / "none")])
    existing = folder / "existing.ncu-rep"
    existing.touch()
    yield Case("the report exists", ("NCU-EXISTS",), 2, ["--export", str(existing), *run])
    yield Case("the report's folder is read-only", ("NCU-WRITE",), 2, ["--export", "/proc/mine", *run])
    yield Case("TMPDIR is missing", ("NCU-TMP", "NCU-LOCK"), 5, run, {"TMPDIR": str(folder / "none")})
    yield from _of_the_machine(folder, run)
    yield from _interrupted(run)
    disk = stack.enter_context(_small_disk(folder))
    if disk:
        yield from _without_room(disk, run)
    # The kernel's own choice of whom to kill must not be the machine's first process.
    first = ("choom", "-n", "1000", "--")
    yield Case("the GPU is full", ("NCU-OOM", "NCU-HANG"), 3, ["--timeout", "60", *run, "fills"], before=first)


def _of_the_machine(folder: Path, run: list[str]) -> Iterator[Case]:
    user = {"SUDO_UID": "65534", "SUDO_GID": "65534"}
    lock = {"TMPDIR": str(_foreign_lock(folder))}
    yield Case("no driver but the toolkit's stub", ("NCU-STUB",), 5, run, _stubs(folder))
    yield Case("no GPU is visible", ("GpuNotFound",), 5, run, {"CUDA_VISIBLE_DEVICES": ""})
    # ncu 2025.3 puts its own injection in the place of the other.
    yield Case("another tool's injection", ("", "NCU-INJ"), 0, run, {"CUDA_INJECTION64_PATH": str(folder / "x.so")})
    # Rules that need it are skipped, and the page says so; a gate on it would be NCU-METRIC.
    yield Case("a rule with an unknown metric", (), 0, ["--rules", str(_bogus_rule(folder)), *run])
    yield Case("sudo: the program has its user's rights", (), 0, run, user, needs_root=True)
    protected = Path("/proc/sys/fs/protected_regular").read_text(encoding="utf-8").strip() != "0"
    # Where the kernel does not protect such files, root may write to it.
    names, code = (("NCU-LOCK",), 5) if protected else ((), 0)
    yield Case("the lock file is another user's", names, code, run, lock, needs_root=True)


def _interrupted(run: list[str]) -> Iterator[Case]:
    many, locked, quick = [*run, "many"], ["--clock-control", "base", *run, "many"], ["--launch-count", "1", *run]
    killed, ended = _when_ncu_runs(signal.SIGKILL, 3.0), _when_ncu_runs(signal.SIGTERM, 5.0)
    yield Case("somebody kills ncu", ("NCU-PART",), 3, many, meanwhile=killed)
    yield Case("somebody ends ncu", ("NCU-PART",), 3, many, meanwhile=ended)
    yield Case("ncu is killed with clocks locked", ("NCU-PART",), 3, locked, meanwhile=killed)
    yield Case("two at once", (), 0, quick, meanwhile=lambda _: _another(quick))
    yield Case("Ctrl-C", ("",), 130, many, meanwhile=_after(6.0, signal.SIGINT))
    yield Case("SIGKILL of ncuview", ("",), -9, many, meanwhile=_after(6.0, signal.SIGKILL))


def _without_room(disk: Path, run: list[str]) -> Iterator[Case]:
    full = ["--export", str(disk / "mine")]
    many = ["--launch-count", "120", "--kill", "yes", *run, "many"]
    cut = ("NCU-FULL", "NCU-CORRUPT", "NCU-WRITE")
    _fill(disk, 64 << 10)
    yield Case("the disk is full", ("NCU-FULL",), 3, [*full, *run], needs_root=True)
    _fill(disk, 1200 << 10)
    yield Case("the disk becomes full", cut, 3, [*full, *many], needs_root=True)
    yield Case("the report outgrows a limit", cut, 3, many, before=("prlimit", "--fsize=1200000"))


def provoke(case: Case) -> Answer:
    """Run one case within its limit, and end all that is left of it."""
    mark = f"{os.getpid()}-{time.monotonic_ns()}"
    command = [*case.before, sys.executable, "-m", "ncuview", "analyze", "--format", "json", *case.words]
    search = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    started = time.monotonic()
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as complained:
        ncuview = subprocess.Popen(
            command,
            env={**os.environ, "PYTHONPATH": search, MARK: mark, **case.variables},
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=complained,
        )
        try:
            if case.meanwhile:
                case.meanwhile(ncuview)
            ncuview.wait(LIMIT_S + 30)
        except subprocess.TimeoutExpired:
            ncuview.kill()
        finally:
            took = time.monotonic() - started
            left = marked(mark)
            while left and time.monotonic() - started < took + 25:
                time.sleep(0.2)
                left = marked(mark)
            for process in left:
                with suppress(OSError):
                    os.kill(process, signal.SIGKILL)
        code = ncuview.wait(10)
        said.seek(0)
        complained.seek(0)
        return _answer(said.read(), complained.read(), code, took, len(left))


def is_right(case: Case, answer: Answer) -> bool:
    """Whether a fault was named correctly, with the exit code of its first name, and left no process running."""
    named = answer.id in (case.ids or ("",))
    code = answer.exit_code == case.exit_code if answer.id == (case.ids or ("",))[0] else True
    return named and code and not answer.left


def _answer(said: bytes, complained: bytes, code: int, seconds: float, left: int) -> Answer:
    error: dict[str, Any] = {}
    with suppress(ValueError):
        error = json.loads(said).get("error") or {}
    lines = [line for line in complained.decode(errors="replace").splitlines() if line.startswith("ncuview: ")]
    spoken = lines[-1].removeprefix("ncuview: ") if lines else ""
    id_ = error.get("id") or next(iter(re.findall(r"^(NCU-[A-Z-]+):", spoken)), "")
    sentence = re.sub(r"\s+", " ", error.get("message") or spoken)
    sentence = re.sub(r"/(?:[\w.-]+/)+", "", sentence).replace("|", "\\|")
    return Answer(id_, code, sentence[:220], seconds, left)


def _left_out(case: Case, started: float, budget_s: float) -> str:
    if case.needs_root and os.geteuid() != 0:
        return "needs root"
    if case.before and not shutil.which(case.before[0]):
        return f"there is no {case.before[0]}"
    return "the time was over" if time.monotonic() - started > budget_s - LIMIT_S else ""


def _names(case: Case) -> str:
    return " or ".join(name or "no name" for name in case.ids) + f" {case.exit_code}" if case.ids else "works 0"


def _head(right: int, wrong: int) -> list[str]:
    gpu, ncu = gpu_state(), find_ncu()
    where = f"{gpu.name}, driver {gpu.driver_version}" if gpu else "no GPU"
    where += f", ncu {ncu_version(ncu)}" if ncu else ", no ncu"
    return [
        "# Faults that were provoked",
        "",
        f"{right} of {right + wrong} were named right, by `python -m fuzz.provoke_faults` on: {where}.",
        "",
        "*left* is how many processes of the run were there 25 seconds after its end.",
        "",
        "| fault | expected, and exit code | reported | exit code | s | left | ncuview's sentence |",
        "| --- | --- | --- | ---: | ---: | ---: | --- |",
    ]


def _when_ncu_runs(number: signal.Signals, after_s: float) -> Callable[[subprocess.Popen[bytes]], None]:
    """Signal ncu itself, so long after it began with its own work."""

    def kill(ncuview: subprocess.Popen[bytes]) -> None:
        while ncuview.poll() is None:
            for process in descendants(ncuview.pid):
                with suppress(OSError):
                    words = (Path("/proc") / str(process) / "cmdline").read_bytes().split(b"\0")
                    if any(word.startswith(b"--export=") for word in words[:40]) and b"reaper.py" not in b" ".join(
                        words
                    ):
                        time.sleep(after_s)
                        for of_ncu in _of_ncu(process):
                            os.kill(of_ncu, number)
                        return
            time.sleep(0.1)

    return kill


def _of_ncu(process: int) -> list[int]:
    """The process and those below it that are ncu as well: its command is a script that starts the real one."""
    below = [one for one in descendants(process) if "ncu" in (Path("/proc") / str(one) / "comm").read_text()]
    return [process, *below]


def _after(seconds: float, number: signal.Signals) -> Callable[[subprocess.Popen[bytes]], None]:
    def send(ncuview: subprocess.Popen[bytes]) -> None:
        with suppress(subprocess.TimeoutExpired):
            ncuview.wait(seconds)
        ncuview.send_signal(number)

    return send


def _another(words: Sequence[str]) -> None:
    """A second run beside the first, which must work as well."""
    answer = provoke(Case("another", (), 0, words))
    if answer.exit_code:
        print(f"the other of two: {answer}", flush=True)


def _stubs(folder: Path) -> dict[str, str]:
    """A search path on which the toolkit's stub of the driver comes first, under the name that programs look for."""
    stubs = folder / "stubs"
    stubs.mkdir()
    nvcc = find_nvcc()
    places = [] if nvcc is None else [*nvcc.resolve().parents[1].glob("**/stubs/libcuda.so")]
    for stub in places[:1]:
        (stubs / "libcuda.so.1").symlink_to(stub)
    return {"LD_LIBRARY_PATH": str(stubs)}


def _bogus_rule(folder: Path) -> Path:
    """A folder with a rule that needs a metric which no GPU has."""
    rule = (shipped("rules") / "atomics" / "ATOM001-contended-atomics.toml").read_text(encoding="utf-8")
    rule = rule.replace("ATOM001", "USER001").replace('"contended-atomics"', '"bogus-metric"')
    rule = rule.replace("l2_atomic_pct", "sm__bogus_cycles.avg")
    target = folder / "rules" / "atomics" / "USER001-bogus-metric.toml"
    target.parent.mkdir(parents=True)
    target.write_text(rule, encoding="utf-8")
    return folder / "rules"


def _foreign_lock(folder: Path) -> Path:
    """A folder for temporary files like /tmp, with a lock file of another user's."""
    place = folder / "of-all"
    place.mkdir()
    place.chmod(0o1777)
    lock = place / "nsight-compute-lock"
    lock.touch(mode=0o644)
    with suppress(OSError):
        os.chown(lock, 65534, 65534)
    return place


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path | None]:
    """A file system of 8 MB, where this user may mount one."""
    place = folder / "small"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", place], capture_output=True, check=False)
    try:
        yield place if done.returncode == 0 else None
    finally:
        if done.returncode == 0:
            subprocess.run(["umount", "-l", place], check=False)


def _fill(disk: Path, leave: int) -> None:
    """Fill a disk but for so many bytes."""
    filler = disk / "filler"
    filler.unlink(missing_ok=True)
    free = os.statvfs(disk)
    filler.write_bytes(bytes(max(0, free.f_bavail * free.f_frsize - leave)))


if __name__ == "__main__":
    main()
