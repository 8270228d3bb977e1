"""Profile labelled programs on this GPU: a report each, and what Nsight Compute's own rules say.

    python -m validation.measure OUT [--vendor] [PROGRAM ...]       for example p001 p003; all without names

Each program first runs alone and checks its own results. The reports hold planned metrics only, scrubbed; with
``--vendor`` the programs are profiled once more with ``--set full``: the estimates of NVIDIA's rules are written to
``PROGRAM.vendor.json``, and the report, scrubbed, to ``full/PROGRAM.ncu-repz`` for validation/full_sets.py. Where a
program fails, the others are profiled, and the exit code is 1. Needs a GPU, ncu and nvcc.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from ncuview.api import load_rules
from ncuview.engine.plan import belongs_in_recording, metrics_for
from ncuview.profiling.machine import find_ncu, find_nvcc
from ncuview.profiling.ncu import ncu_command
from ncuview.profiling.options import NcuOptions
from ncuview.reader.scrub import scrub
from validation.labelled import PROGRAMS, known_programs, sources

MEASURED = "regex:^k[0-9]"
FULL = ("--set=full", "--apply-rules=yes")


def main(
    out: Path,
    programs: Annotated[list[str] | None, typer.Argument(metavar="PROGRAM", callback=known_programs)] = None,
    *,
    vendor: bool = False,
) -> None:
    """Run and profile one program after the other, while others are compiled and reports scrubbed."""
    out.mkdir(parents=True, exist_ok=True)
    chosen = [sources()[name] for name in programs or sources()]
    scrubbed: list[Future[Any]] = []
    failed = False
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        for program in pool.map(partial(compiled, folder=Path(folder)), chosen):
            if program is None:
                failed = True
                continue
            started = time.monotonic()
            try:
                scrubbed.append(pool.submit(_scrub, *_profiled(program, out, vendor=vendor)))
                said = "profiled"
            except _Failed as failure:
                said, failed = str(failure), True
            print(f"{program.name}: {said}, {time.monotonic() - started:.1f} s", flush=True)
    for each in scrubbed:
        if error := each.exception():
            print(f"scrub FAILED: {error}", flush=True)
            failed = True
    raise typer.Exit(int(failed))


def compiled(source: Path, folder: Path, *options: str) -> Path | None:
    """The program, compiled with these options besides those of all; None where it does not compile, which is said."""
    program = folder / "".join([source.name.partition("-")[0], *options])
    flags = ["-O3", "-std=c++17", "-arch=native", "-lineinfo", *options]
    command = [str(find_nvcc()), *flags, "-o", str(program), source.name]
    ended = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=False)
    if ended.returncode:
        print(f"{source.stem}: does not compile: {ended.stderr[-2000:]}")
        return None
    return program


class _Failed(Exception):
    """A program failed, or its profile; the text says how."""


def _profiled(program: Path, out: Path, *, vendor: bool) -> tuple[Path, Path]:
    """The report of a program, and where it is kept once it is scrubbed.

    Raises:
        _Failed: The program does not run, or ncu fails.
    """
    alone = subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=60)
    if alone.returncode:
        raise _Failed(f"WRONG ({alone.returncode}): {alone.stdout[-500:]} {alone.stderr[-500:]}")
    metrics = metrics_for(load_rules())
    raw = program.with_suffix(".ncu-rep")
    _run(ncu_command(ncu_here(), metrics, raw, [str(program)], NcuOptions(kernel_name=MEASURED)))
    if vendor:
        full = program.with_name(f"{program.name}-full.ncu-rep")
        command = ncu_command(ncu_here(), metrics, full, [str(program)], NcuOptions(kernel_name=MEASURED))
        options = [option for option in command if not option.startswith(("--metrics", "--apply-rules"))]
        _run([options[0], *FULL, *options[1:]])
        (out / "full").mkdir(exist_ok=True)
        scrub(full, out / "full" / f"{program.name}.ncu-repz", keep=lambda _: True)
        (out / f"{program.name}.vendor.json").write_text(json.dumps(_vendor(full), indent=1), encoding="utf-8")
    return raw, out / f"{program.name}.ncu-repz"


def _scrub(report: Path, kept: Path) -> None:
    scrub(report, kept, keep=partial(belongs_in_recording, planned=frozenset(metrics_for(load_rules()))))


def ncu_here() -> Path:
    """Where ncu is."""
    ncu = find_ncu()
    if ncu is None:
        raise SystemExit("ncu is missing")
    return Path(ncu)


def _run(command: list[str]) -> None:
    ended = subprocess.run(command, cwd=PROGRAMS, capture_output=True, text=True, check=False, timeout=400)
    if ended.returncode:
        raise _Failed(f"ncu FAILED ({ended.returncode}): {ended.stdout[-800:]} {ended.stderr[-800:]}")


def _vendor(report: Path) -> list[dict[str, Any]]:
    """What NVIDIA's rules say of each launch: identifier, estimated share of the run time, and the message's title."""
    import ncu_report

    found = []
    context = ncu_report.load_report(str(report))
    for action in (action for number in range(len(context)) for action in context[number]):
        rules = [
            {
                "rule": result["rule_identifier"],
                "title": result["rule_message"].get("title", ""),
                "type": str(result["speedup_estimation"]["type"]),
                "speedup": float(result["speedup_estimation"]["speedup"]),
            }
            for result in action.rule_results_as_dicts()
            if "speedup_estimation" in result
        ]
        found.append({"kernel": action.name(action.NameBase_FUNCTION), "rules": rules})
    return found


if __name__ == "__main__":
    typer.run(main)
