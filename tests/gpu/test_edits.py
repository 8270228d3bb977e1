"""Every mechanical edit on a GPU: apply the diff, run both programs, and compare the gain with the prediction."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from ncuview import diagnose, read
from ncuview.api import load_rules
from ncuview.engine.plan import metrics_for
from ncuview.patch import Edit, propose
from ncuview.profiling.machine import find_ncu, find_nvcc
from ncuview.profiling.ncu import classify, ncu_command, run_ncu
from ncuview.profiling.options import NcuOptions
from ncuview.records.diagnosis import LaunchDiagnosis

pytestmark = pytest.mark.gpu
PROGRAMS = Path(__file__).parent / "edits"
EXACT, ROUNDED = True, False


@dataclass(frozen=True)
class Built:
    """A program in a folder of its own."""

    source: Path
    said: str
    """What it printed: a sum over the bits of its results."""
    launch: LaunchDiagnosis


def built(folder: Path, name: str, kernel: str) -> Built:
    nvcc, ncu = find_nvcc(), find_ncu()
    assert nvcc is not None
    assert ncu is not None
    program = folder / name
    command = [str(nvcc), "-O3", "-std=c++17", "-arch=native", "-lineinfo", "-o", str(program), f"{name}.cu"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    alone = subprocess.run([program], capture_output=True, text=True, check=False, timeout=120)
    assert alone.returncode == 0, alone.stderr
    report = folder / "profile.ncu-rep"
    argv = ncu_command(ncu, metrics_for(load_rules()), report, [str(program)], NcuOptions(kernel_name=kernel))
    run = run_ncu(argv, cwd=folder, timeout_s=300)
    if failure := classify(run, report):
        raise failure
    (launch,) = diagnose(read(report)).launches
    return Built(folder / f"{name}.cu", alone.stdout, launch)


@pytest.mark.parametrize(
    ("name", "kernel", "rule", "exact"),
    [
        ("pad_tile", "transposed", "SMEM001", EXACT),
        ("pad_flat", "transposed", "SMEM001", EXACT),
        ("unroll", "scrambled", "INST001", EXACT),
        ("restrict", "polynomial", "GMEM008", EXACT),
        ("launch_bounds", "mixed", "LMEM001", EXACT),
        ("block_size", "chased", "OCC001", EXACT),
        ("float_literals", "decayed", "INST004", ROUNDED),
        ("fast_functions", "waves", "INST003", ROUNDED),
        ("constant_divisor", "digits", "INST002", EXACT),
        ("swap_indices", "scaled", "GMEM001", EXACT),
        ("swap_copy", "product", "GMEM001", EXACT),
    ],
)
def test_an_edit_keeps_the_results_and_gains_what_its_finding_predicted(
    name: str, kernel: str, rule: str, exact: bool, tmp_path: Path
) -> None:
    for file in (f"{name}.cu", "check.h"):
        (tmp_path / "before").mkdir(exist_ok=True)
        (tmp_path / "after").mkdir(exist_ok=True)
        for folder in ("before", "after"):
            (tmp_path / folder / file).write_bytes((PROGRAMS / file).read_bytes())
    before = built(tmp_path / "before", name, kernel)
    findings = {finding.rule.code: finding for finding in before.launch.findings}
    assert rule in findings, {code: finding.message for code, finding in findings.items()}
    finding = findings[rule]
    source = before.source.read_bytes().decode()
    lines = [place.line for place in finding.where]
    edit = propose(source, f"{name}.cu", before.launch.kernel, finding.fix.patch, lines)
    assert isinstance(edit, Edit), edit
    diff = tmp_path / "edit.diff"
    diff.write_bytes(edit.diff(f"{name}.cu").encode())
    subprocess.run(["git", "apply", diff], cwd=tmp_path / "after", check=True)
    after = built(tmp_path / "after", name, kernel)
    if exact:
        assert after.said == before.said
    gained = before.launch.duration_ns / after.launch.duration_ns
    predicted = finding.predicted_speedup
    assert predicted.low <= gained <= predicted.high, (gained, predicted)
