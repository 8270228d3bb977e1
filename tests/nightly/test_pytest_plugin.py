"""The pytest plugin as its users meet it: it reads, profiles, skips with a reason, and explains failures."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from importlib.metadata import entry_points
from math import inf
from pathlib import Path
from typing import Any

import pytest

from ncuview import api
from ncuview.base.errors import GpuNotFound, NcuRefused, ProgramFailed
from ncuview.base.paths import shipped
from ncuview.profiling import machine
from ncuview.profiling.options import NcuOptions
from ncuview.reader.precheck import read_report
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.profile import Failure, Profile
from ncuview.testing import KernelResult
from tests.profiling.test_machine import Machine, gpu

pytest_plugins = ["pytester"]

ROOT = Path(__file__).resolve().parents[2]
REPORT = shipped("kernels") / "transpose" / "h200.ncu-repz"
Run = Callable[..., pytest.RunResult]


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    """Import all that tests need: pytester forgets what is first imported in a run, and NumPy loads only once."""
    KernelResult(recorded(), diagnosed()).explanation()


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a test file under the plugin, and no other that happens to be installed."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")

    def run_pytest(source: str, *options: str) -> pytest.RunResult:
        pytester.makepyfile(source)
        return pytester.runpytest_inprocess("-p", "ncuview.pytest_plugin", "-p", "no:cacheprovider", "-rs", *options)

    return run_pytest


@cache
def recorded() -> Profile:
    return api.read(REPORT, kernel_name="transposeCoalesced")


@cache
def diagnosed() -> Diagnosis:
    return api.diagnose(recorded(), api.load_rules())


class Profiled:
    """What stands in for ncu: remembers what it was asked, and gives a recorded profile."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, target: Any, *, options: NcuOptions, export: Path | None, timeout_s: float) -> Profile:
        self.calls.append({"target": target, "options": options, "export": export, "timeout_s": timeout_s})
        if export is not None:
            assert not export.exists()
            export.write_bytes(REPORT.read_bytes())
        return recorded()


@pytest.fixture
def profiled(monkeypatch: pytest.MonkeyPatch) -> Profiled:
    """A machine with a GPU on which every program launches transposeCoalesced."""
    made = Profiled()
    monkeypatch.setattr(machine, "missing_for_ncu", lambda: None)
    monkeypatch.setattr(api, "run", made)
    monkeypatch.setattr(api, "diagnose", lambda profile, rules: diagnosed())
    return made


def raising(error: Exception) -> Callable[..., Profile]:
    def profile(*_: Any, **__: Any) -> Profile:
        raise error

    return profile


def test_a_stored_report_is_read_without_a_gpu(run: Run) -> None:
    result = run(f"""
        def test_padding(ncuview):
            r = ncuview.read({str(REPORT)!r})
            assert r.kernel("transposeNoBankConflicts")["shared_bank_conflict_ways"] == 1
            assert r.kernel("transposeCoalesced").advice == "shared_memory_padding"
            assert r.kernel("transposeCoalesced").predicted > 2
            assert r.kernel("transposeCoalesced").duration_ns < 1e6
    """)
    result.assert_outcomes(passed=1)


def test_a_failed_comparison_says_what_was_measured_and_what_to_do(run: Run) -> None:
    result = run(f"""
        def test_padding(ncuview):
            r = ncuview.read({str(REPORT)!r}).kernel("transposeCoalesced")
            assert r["shared_bank_conflict_ways"] == 1
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([
        "E * assert <shared_bank_conflict_ways 16.5 ratio> == 1",
        "E * <transposeCoalesced, grid 256x256, block 32x8: *us, l1_data 88%, shared_memory_padding *x>",
        "E * Next: Pad each row of the shared array: *x faster. *",
        "E * Where: *.cu:*",
    ])  # fmt: skip


def test_a_failed_comparison_of_other_numbers_is_pytest_s_own(run: Run) -> None:
    result = run("""
        def test_numbers():
            assert 1.0 == 2.0
    """)
    result.stdout.fnmatch_lines(["E * assert 1.0 == 2.0"])


def test_a_program_is_profiled_as_the_marker_and_the_call_say(run: Run, profiled: Profiled) -> None:
    result = run("""
        import pytest

        @pytest.mark.ncuview(kernel_name="regex:transpose", launch_count=5, timeout_s=60)
        def test_program(ncuview):
            r = ncuview.profile(["./app", "--size", "8192"], launch_count=3)
            assert r["shared_bank_conflict_ways"] == 16.5
            ncuview.profile("./other")
    """)
    result.assert_outcomes(passed=1)
    first, second = profiled.calls
    assert first["target"] == ["./app", "--size", "8192"]
    assert first["options"] == NcuOptions(kernel_name="regex:transpose", launch_count=3)
    assert second["options"] == NcuOptions(kernel_name="regex:transpose", launch_count=5)
    assert (first["timeout_s"], first["export"]) == (60.0, None)


def test_without_a_marker_everything_is_as_ncuview_has_it(run: Run, profiled: Profiled) -> None:
    run("""
        def test_program(ncuview):
            ncuview.profile("./app")
    """).assert_outcomes(passed=1)
    assert (profiled.calls[0]["options"], profiled.calls[0]["timeout_s"]) == (NcuOptions(), inf)


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (GpuNotFound("no NVIDIA GPU here", hint="Install the driver."), "*ncuview: no NVIDIA GPU here. Install the*"),
        (NcuRefused("Only administrators may read counters [[]NCU-PERM]"), "*ncuview: Only administrators may*"),
    ],
)
def test_what_is_missing_on_this_machine_skips_the_test_with_the_reason(
    run: Run, monkeypatch: pytest.MonkeyPatch, profiled: Profiled, error: Any, reason: str
) -> None:
    if isinstance(error, GpuNotFound):
        monkeypatch.setattr(machine, "missing_for_ncu", lambda: error)
    else:
        monkeypatch.setattr(api, "run", raising(error))
    result = run("""
        def test_program(ncuview):
            ncuview.profile("./app")
    """)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"SKIPPED {reason}"])


def test_a_gpu_that_is_required_fails_the_test_instead(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    error = GpuNotFound("no NVIDIA GPU here", hint="Install the driver.")
    monkeypatch.setattr(machine, "missing_for_ncu", lambda: error)
    result = run(
        """
        def test_program(ncuview):
            ncuview.profile("./app")
        """,
        "--ncuview-require-gpu",
    )
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *GpuNotFound: no NVIDIA GPU here", "E *Install the driver."])


def test_a_program_that_fails_fails_the_test_with_the_hint(
    run: Run, monkeypatch: pytest.MonkeyPatch, profiled: Profiled
) -> None:
    monkeypatch.setattr(api, "run", raising(ProgramFailed("./app left with 3", hint="Run it alone.")))
    result = run("""
        def test_program(ncuview):
            ncuview.profile("./app")
    """)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E *ProgramFailed: ./app left with 3", "E *Run it alone."])


def test_an_error_is_shown_at_the_line_of_the_test_without_code_of_ncuview(run: Run) -> None:
    result = run(f"""
        def test_missing(ncuview):
            ncuview.read("none.ncu-rep")

        def test_metric(ncuview):
            ncuview.read({str(REPORT)!r}).kernel("copy")["ipcc"]

        def test_kernel(ncuview):
            ncuview.read({str(REPORT)!r}).kernel("nope")

        def test_option(ncuview):
            ncuview.profile("./app", unknown=1)
    """)
    result.assert_outcomes(failed=4)
    result.stdout.fnmatch_lines(["E *ReportUnreadable: none.ncu-rep does not exist", "E *UnknownMetric: *'ipcc'*"])
    result.stdout.no_fnmatch_line("*def read(*")
    result.stdout.no_fnmatch_line("*pytest_plugin.py:[0-9]*")
    result.stdout.no_fnmatch_line("*kernel_result.py:[0-9]*")


@pytest.mark.parametrize("call", ["profile('./app')", "read('cut.ncu-rep')"])
def test_a_profile_without_some_of_its_launches_passes_no_test(
    run: Run, monkeypatch: pytest.MonkeyPatch, profiled: Profiled, pytester: pytest.Pytester, call: str
) -> None:
    crashed = Failure("NCU-CRASH", "./app died of SIGSEGV", "Run it alone.", 6)
    monkeypatch.setattr(api, "run", lambda *_, **__: replace(recorded(), failure=crashed))
    (pytester.path / "cut.ncu-rep").write_bytes(read_report(REPORT)[:-1])
    result = run(f"""
        def test_program(ncuview):
            ncuview.{call}
    """)
    result.assert_outcomes(failed=1)
    said = "*./app died of SIGSEGV" if call.startswith("profile") else "*launches 0 to * were read; block * is damaged*"
    result.stdout.fnmatch_lines([f"E *Incomplete: {said}"])


def test_counters_that_the_driver_forbids_skip_the_test(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Machine(pytester.path, monkeypatch)
    here.answer_nvidia_smi(gpu())
    script = Path(__file__).parents[1] / "profiling" / "fake_ncu.py"
    here.install("path/ncu", f"exec '{sys.executable}' -I -S '{script}' \"$@\"")
    said = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters\n"
    scenario = pytester.path / "scenario.json"
    scenario.write_text(json.dumps({"say": [["stderr", said]], "returncode": 1}))
    monkeypatch.setenv("FAKE_NCU", str(scenario))
    result = run(f"""
        def test_program(ncuview):
            ncuview.profile([{sys.executable!r}, "-c", ""])
    """)
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["SKIPPED *NCU-PERM: *only administrators read this GPU's counters*"])


@pytest.mark.parametrize(
    ("marker", "shown"),
    [
        ("kernel='k'", "ncuview.profile has no option kernel"),
        ("launch_count=0", "--launch-count 0 would profile nothing"),
        ("'transpose'", "takes options by name only"),
    ],
)
def test_a_wrong_marker_is_an_error_that_says_what_is_wrong(
    run: Run, profiled: Profiled, marker: str, shown: str
) -> None:
    result = run(f"""
        import pytest

        @pytest.mark.ncuview({marker})
        def test_program(ncuview):
            ncuview.profile("./app")
    """)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines([f"*{shown}*"])


def test_reports_are_saved_under_the_name_of_their_test(
    run: Run, profiled: Profiled, pytester: pytest.Pytester
) -> None:
    source = """
        import pytest

        @pytest.mark.parametrize("name", ["a b", "a/b", "%p"])
        def test_program(ncuview, name):
            ncuview.profile("./app")

        def test_twice(ncuview):
            ncuview.profile("./app")
            ncuview.profile("./app")
    """
    for _ in range(2):  # the second run finds the files of the first
        run(source, "--ncuview-report", "kept/here").assert_outcomes(passed=4)
    names = sorted(file.name for file in (pytester.path / "kept" / "here").iterdir())
    assert len(names) == 5
    assert sum("test_twice" in name for name in names) == 2
    assert all(name.endswith(".ncu-rep") and not set(name) & set("% /[]") for name in names)


def test_the_marker_is_known_to_pytest(run: Run) -> None:
    result = run(
        """
        import pytest

        @pytest.mark.ncuview(launch_count=1)
        def test_nothing():
            pass
        """,
        "--strict-markers",
    )
    result.assert_outcomes(passed=1)


@pytest.mark.parametrize("options", [["--help"], ["--markers"], []])
def test_runs_that_do_not_use_it_import_nothing_heavy(tmp_path: Path, options: list[str]) -> None:
    (tmp_path / "conftest.py").write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "def pytest_unconfigure():\n"
        f"    Path({str(tmp_path / 'loaded')!r}).write_text(' '.join(sys.modules))\n"
    )
    (tmp_path / "test_it.py").write_text("def test_sum():\n    assert 1 + 1 == 2\n")
    command = [sys.executable, "-m", "pytest", "-p", "ncuview.pytest_plugin", "-p", "no:cacheprovider", *options]
    environment = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(Path(api.__file__).parents[1])}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert "--ncuview-report" in done.stdout or "--help" not in options
    loaded = {name.split(".")[0] for name in (tmp_path / "loaded").read_text().split()}
    assert "ncuview" in loaded
    assert not loaded & {"pandas", "numpy", "pydantic", "rich", "typer", "lxml", "ncu_report"}
    parts = {name for name in (tmp_path / "loaded").read_text().split() if name.startswith("ncuview.")}
    assert not {"ncuview.api", "ncuview.profiling", "ncuview.gate", "ncuview.reader"} & parts


def test_the_page_about_it_shows_tests_that_run(
    run: Run, monkeypatch: pytest.MonkeyPatch, pytester: pytest.Pytester
) -> None:
    page = (ROOT / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")
    examples = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 2
    (pytester.path / "kernels").symlink_to(shipped("kernels"))
    monkeypatch.setattr(machine, "missing_for_ncu", lambda: GpuNotFound("no NVIDIA GPU here"))
    run("\n".join(examples)).assert_outcomes(passed=1, skipped=1)


def test_pytest_finds_it_where_ncuview_is_installed() -> None:
    (plugin,) = entry_points(group="pytest11", name="ncuview")
    assert plugin.value == "ncuview.pytest_plugin"
