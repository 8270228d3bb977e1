"""Programs whose defect lies in a header, in one of two kernels, in an inlined function, or in Python."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from ncuview import diagnose, read
from ncuview.api import load_rules
from ncuview.engine.plan import metrics_for
from ncuview.profiling.machine import find_ncu, find_nvcc
from ncuview.profiling.ncu import classify, ncu_command, run_ncu
from ncuview.reader.inlining import with_call_sites
from ncuview.reader.reader import read as read_reports
from ncuview.reader.source import with_local_sources
from ncuview.records.diagnosis import Finding, LaunchDiagnosis, SourceLine

pytestmark = [pytest.mark.gpu, pytest.mark.validation]
PROGRAMS = Path(__file__).parents[2] / "validation" / "user_programs"


def profiled(program: Sequence[str], folder: Path) -> dict[str, list[LaunchDiagnosis]]:
    """The launches of each kernel."""
    ncu = find_ncu()
    assert ncu is not None
    report = folder / "profile.ncu-rep"
    run = run_ncu(ncu_command(ncu, metrics_for(load_rules()), report, program), cwd=folder, timeout_s=300)
    if failure := classify(run, report):
        raise failure
    found: dict[str, list[LaunchDiagnosis]] = {}
    for launch in diagnose(with_local_sources(with_call_sites(read(report)))).launches:
        found.setdefault(launch.kernel, []).append(launch)
    return found


def built(name: str, folder: Path, *options: str) -> list[str]:
    nvcc = find_nvcc()
    assert nvcc is not None
    program = folder / name
    subprocess.run(
        [nvcc, "-O3", "-arch=native", *options, "-o", program, f"{PROGRAMS.name}/{name}.cu"],
        cwd=PROGRAMS.parent,
        check=True,
    )
    return [str(program)]


def first(launch: LaunchDiagnosis) -> Finding:
    assert launch.findings, launch.outcomes
    return launch.findings[0]


def called(line: SourceLine) -> str:
    """The kernel's own line; ncu names it itself for the first instructions of what is inlined there."""
    return line.called_from[0].code if line.called_from else line.code


def test_a_template_of_a_header_is_shown_for_each_type(tmp_path: Path) -> None:
    launches = profiled(built("template_kernel", tmp_path, "-lineinfo"), tmp_path)["transposed"]
    assert len(launches) == 2
    for launch in launches:
        line = first(launch).where[0]
        assert Path(line.file).name == "matrix.cuh"
        assert line.code.endswith("// template waste")
        assert (line.inlined, line.remark) == (False, "")


def test_two_kernels_of_a_file_each_have_their_own_line(tmp_path: Path) -> None:
    launches = profiled(built("two_kernels", tmp_path, "-lineinfo"), tmp_path)
    for kernel, mark in (("from_memory", "// memory waste"), ("from_tile", "// tile waste")):
        assert first(launches[kernel][0]).where[0].code.endswith(mark)


def test_an_inlined_function_is_shown_with_the_line_that_calls_it(tmp_path: Path) -> None:
    [launch] = profiled(built("inlined_function", tmp_path, "-lineinfo"), tmp_path)["through_function"]
    line = first(launch).where[0]
    assert line.code.endswith(("// waste", "// call"))
    assert called(line).endswith("// call")


def test_without_line_information_the_load_itself_is_named(tmp_path: Path) -> None:
    [launch] = profiled(built("inlined_function", tmp_path), tmp_path)["through_function"]
    finding = first(launch)
    assert not finding.where
    assert "LDG" in finding.instructions[0].sass
    assert "-lineinfo" in finding.lines_wanted


def test_a_source_that_ncu_did_not_import_is_read_from_disk(tmp_path: Path) -> None:
    ncu = find_ncu()
    assert ncu is not None
    report = tmp_path / "profile.ncu-rep"
    metrics = ",".join(metrics_for(load_rules()))
    program = built("two_kernels", tmp_path, "-lineinfo")
    subprocess.run([ncu, "--metrics", metrics, "--export", report, *program], check=True, capture_output=True)
    profile = with_call_sites(read_reports([report]))  # api.read looks at once where the report says the file is
    assert not profile.sources
    for launch in diagnose(with_local_sources(profile, [PROGRAMS])).launches:
        line = first(launch).where[0]
        assert line.code.endswith("waste")
        assert line.remark == ""


@pytest.mark.parametrize(("module", "script"), [("triton", "triton_column"), ("numba", "numba_column")])
def test_python_kernels_are_shown_in_python(
    module: str, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = {"triton": "import triton.language", "numba": "import numba.cuda.np.arrayobj"}[module]
    if subprocess.run([sys.executable, "-c", starts], capture_output=True, check=False).returncode:
        pytest.skip(f"{module} is not installed, or does not start beside the other packages")
    monkeypatch.setitem(os.environ, "TRITON_CACHE_DIR", str(tmp_path / "cache"))
    launches = profiled([sys.executable, str(PROGRAMS / f"{script}.py")], tmp_path)
    [kernel] = [name for name in launches if "column_read" in name]
    line = first(launches[kernel][0]).where[0]
    assert Path(line.file).name == f"{script}.py"
    assert line.code.endswith(("# waste", "# call"))
