"""Record reports of the program kinds.cu with several versions and options of ncu, for the conformance table.

    python3 -m validation.conformance.record OUT NCU [NCU ...]

``OUT/VERSION-KIND.ncu-rep`` and ``.csv`` get what each ncu wrote; what it refuses is said, and in ``OUT/refused.tsv``.
Needs a GPU, nvcc and the ncu's. ``table.py`` makes the table of them, and of NVIDIA's sample reports.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from ncuview.api import load_rules
from ncuview.engine.plan import metrics_for
from ncuview.profiling.machine import find_nvcc, ncu_version

SOURCE = Path(__file__).with_name("kinds.cu")
LIMIT_S = 120.0


def kinds() -> dict[str, tuple[list[str], list[str]]]:
    """Kind of report -> ncu's options, and the arguments of the program."""
    planned = f"--metrics={','.join(metrics_for(load_rules()))}"
    source = ["--import-source=yes"]
    return {
        "planned": ([planned, *source], []),
        "full": (["--set=full", *source], []),
        "detailed": (["--set=detailed", *source], []),
        "basic": (["--set=basic"], []),
        "without-source": (["--set=full", "--import-source=no"], []),
        "one-metric": (["--metrics=gpu__time_duration.sum"], []),
        "range": (["--set=full", "--replay-mode=range"], []),
        "app-range": (["--set=full", "--replay-mode=app-range"], []),
        "application": (["--set=full", "--replay-mode=application"], []),
        "graph": (["--set=full", "--graph-profiling=graph"], ["graph"]),
        "graph-nodes": (["--set=full", "--graph-profiling=node"], ["graph"]),
    }


def main(out: Path, ncus: Annotated[list[Path], typer.Argument(metavar="NCU...")]) -> None:
    """Record each kind with each ncu."""
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "kinds"
        build = [str(find_nvcc()), "-O3", "-std=c++17", "-arch=native", "-lineinfo", "-o", str(program), str(SOURCE)]
        subprocess.run(build, check=True)
        for ncu in ncus:
            version = ncu_version(ncu)
            for kind, (options, arguments) in kinds().items():
                report = out / f"{version}-{kind}.ncu-rep"
                base = [str(ncu), "--clock-control=none", "--force-overwrite", f"--export={report}", *options]
                said = _run([*base, str(program), *arguments])
                if said or not report.exists():
                    _refused(out, version, kind, said or "no report")
                    continue
                print(f"{version} {kind}: {report.stat().st_size:,} bytes", flush=True)
                if kind in {"full", "planned"}:
                    _pages(ncu, report)


def _pages(ncu: Path, report: Path) -> None:
    """The pages of a report as CSV, as users export them."""
    for page in ("raw", "details"):
        command = [str(ncu), "--import", str(report), "--page", page, "--csv"]
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
        if ended.returncode == 0:
            report.with_name(f"{report.stem}-{page}.csv").write_text(ended.stdout, encoding="utf-8")


def _run(command: list[str]) -> str:
    """Why a command failed; empty where it did not."""
    try:
        ended = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return f"not ended after {LIMIT_S:.0f} s"
    errors = [line for line in ended.stdout.splitlines() if "==ERROR==" in line]
    return " / ".join(errors or [ended.stderr[-300:]]).replace("\n", " ") if ended.returncode else ""


def _refused(out: Path, version: str, kind: str, why: str) -> None:
    print(f"{version} {kind}: REFUSED {why}", flush=True)
    with (out / "refused.tsv").open("a", encoding="utf-8") as table:
        table.write(f"{version}\t{kind}\t{why}\n")


if __name__ == "__main__":
    typer.run(main)
