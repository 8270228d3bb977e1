"""``ncuview check`` as CI pipelines use it: exit code, standard output and files.

Most tests call the program in this process, where the report is read once; some start it as a process of its own.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import pytest

from ncuview.base.errors import ProgramFailed
from ncuview.base.paths import shipped
from ncuview.cli import main as run_ncuview
from ncuview.pipeline import examine
from ncuview.reader.scrub import scrub
from tests.command_line import BARE, Ended, assert_failed, install, ncuview

VERSION_1 = Path(__file__).parent / "version_1" / "baseline.json"
REPORT = shipped("kernels") / "divergence" / "h200.ncu-repz"
BANKS = shipped("kernels") / "bank_patterns" / "h200.ncu-repz"

OPEN = '[[budget]]\nkernel = "divergentOnWarpBorder"\nmetric = "branch_efficiency"\nmin = 100\n'
CLOSED = '[[budget]]\nkernel = "divergentWithinWarp"\nmetric = "warp_nonpred_execution_efficiency"\nmin = 90\n'
UNKNOWN = '[[budget]]\nkernel = "*"\nmetric = "launch__nobody_collects_this"\nmax = 1\n'
RENAMED = '[[budget]]\nkernel = "noLongerThere"\nmetric = "inst_executed"\nmax = 1\n'
UNSURE = '[[budget]]\nkernel = "divergentWithinWarp"\nmetric = "duration_ns"\nmax = 146500\n'


class Run(Protocol):
    """Runs ncuview with these words."""

    def __call__(self, *args: str | Path) -> Ended: ...


@cache
def examined(*targets: str, kernel_name: str) -> examine.Examined:
    return _examine(*targets, kernel_name=kernel_name)


_examine = examine.examine


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Iterator[Run]:
    """Runs ncuview in this process and in the test's folder; each report is read and diagnosed once."""

    def in_process(*args: str | Path) -> Ended:
        monkeypatch.setattr("sys.argv", ["ncuview", *map(str, args)])
        with pytest.raises(SystemExit) as left:
            run_ncuview()
        assert isinstance(left.value.code, int)
        return Ended(left.value.code, *capsys.readouterr())

    def read_once(*targets: str, **options: Any) -> examine.Examined:
        assert options["live"] is None
        return examined(*targets, kernel_name=options["kernel_name"])

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(examine, "examine", read_once)
    monkeypatch.chdir(tmp_path)
    yield in_process
    signal.signal(signal.SIGTERM, before)


def budget(folder: Path, text: str) -> Path:
    path = folder / "budgets.toml"
    path.write_text(text, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def main(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A baseline of the report."""
    path = tmp_path_factory.mktemp("baseline") / "main.json"
    ended = ncuview("check", REPORT, "--save-baseline", path)
    assert ended.code == 0
    assert ended.err.startswith(
        f"{path}: written, a baseline of 15 kernels\nncuview: {path}: 15 of 15 kernels have fewer than 3 launches"
    )
    return path


def changed(folder: Path, main: Path, change: Any) -> Path:
    """The baseline after a change of its document."""
    document = json.loads(main.read_text(encoding="utf-8"))
    change(document)
    path = folder / "changed.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def entry(document: Any, kernel: str) -> Any:
    return next(each for each in document["kernels"] if each["kernel"] == kernel)


def halve(kernel: str, metric: str) -> Any:
    def change(document: Any) -> None:
        entry(document, kernel)["metrics"][metric]["median"] /= 2

    return change


# Exit codes of budgets


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        (OPEN, 0, "gate: open, 1 check passed"),
        (CLOSED, 1, "gate: closed, 1 of 1 checks failed (exit code 1)"),
        (OPEN + CLOSED, 1, "gate: closed, 1 of 2 checks failed (exit code 1)"),
        (OPEN + CLOSED + 'level = "warn"\n', 0, "gate: open, 1 check passed, 1 warning"),
        (UNSURE, 4, "gate: fails because it is inconclusive, 1 of 1 checks inconclusive (exit code 4)"),
        (UNSURE + CLOSED, 4, "gate: fails because it is inconclusive, 1 of 2 checks failed, 1 inconclusive"),
        (RENAMED, 3, "gate: fails because data is missing (kernels that the budget names), 1 of 1 checks could not"),
        (RENAMED + UNSURE + CLOSED, 3, "because data is missing (kernels that the budget names), 1 of 3 checks failed"),
        (RENAMED + "required = false\n", 3, "no check came to a result, so that nothing was checked"),
        (
            RENAMED + "required = false\n" + OPEN,
            0,
            "gate: open, 1 check passed, 1 not judged",
        ),
        (UNKNOWN + 'level = "warn"\n', 3, "so that nothing was checked"),
        (OPEN + 'level = "off"\n', 0, "gate: nothing was checked"),
        (UNKNOWN, 3, "because data is missing"),
    ],
    ids=[
        "open",
        "closed",
        "one of two",
        "a warning",
        "unsure",
        "unsure before closed",
        "renamed",
        "renamed before unsure",
        "renamed and not required",
        "renamed and not required, and another",
        "only warnings, not collected",
        "switched off",
        "not collected",
    ],
)
def test_the_exit_code_of_a_budget(run: Run, tmp_path: Path, text: str, code: int, says: str) -> None:
    ended = run("check", REPORT, "--budget", budget(tmp_path, text))
    assert (ended.code, ended.err) == (code, "")
    assert says in " ".join(ended.out.split())


def test_a_failure_is_shown_first_with_values_and_the_origin_of_its_condition(run: Run, tmp_path: Path) -> None:
    path = budget(tmp_path, OPEN + CLOSED)
    words = " ".join(run("check", REPORT, "--budget", path).out.split())
    assert words.startswith("FAIL divergentWithinWarp [")
    assert "warp_nonpred_execution_efficiency at least 90 %: it is" in words
    assert "budgets.toml:5, budget 2)" in words.replace("/ ", "/")


@pytest.mark.parametrize(
    ("options", "code"),
    [((), 0), (("--fail-on", "warn"), 1), (("--fail-on", "off"), 0), (("--fail-on", "warn", "--exit-zero"), 0)],
)
def test_what_closes_the_gate_can_be_chosen(run: Run, tmp_path: Path, options: tuple[str, ...], code: int) -> None:
    path = budget(tmp_path, CLOSED + 'level = "warn"\n')
    assert run("check", REPORT, "--budget", path, *options).code == code


@pytest.mark.parametrize(
    ("text", "missing", "code", "says"),
    [
        (UNKNOWN, "fail", 1, "could not be judged"),
        (UNKNOWN + OPEN, "skip", 0, "gate: open, 1 check passed, 15 not judged"),
        (UNKNOWN, "skip", 3, "no check came to a result, so that nothing was checked"),
        (UNKNOWN + CLOSED, "skip", 1, "gate: closed, 1 of"),
        (RENAMED, "skip", 3, "because data is missing"),
        (RENAMED, "fail", 1, "no launch is called noLongerThere"),
        (RENAMED + "required = false\n", "skip", 3, "so that nothing was checked"),
    ],
)
def test_checks_without_a_value_can_fail_or_be_ignored(
    run: Run, tmp_path: Path, text: str, missing: str, code: int, says: str
) -> None:
    ended = run("check", REPORT, "--budget", budget(tmp_path, text), "--on-missing", missing)
    assert (ended.code, ended.err) == (code, "")
    assert says in " ".join(ended.out.split()) or (missing == "fail" and "FAIL" in ended.out)


def test_a_pyproject_holds_budgets_too(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        "[[tool.ncuview.budget]]" + CLOSED.removeprefix("[[budget]]"), encoding="utf-8"
    )
    assert run("check", REPORT, "--budget", "pyproject.toml").code == 1


# What is wrong with the command line or its files


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[budget]", ["budgets.toml"]),
        (OPEN + "maximum = 3\n", ["budgets.toml", "budget 1", "maximum", "unknown key"]),
        (OPEN.replace("branch_eff", "brunch_eff"), ["budgets.toml", "budget 1", "metric", "branch_efficiency"]),
        ('[[budget]]\nkernel = "*"\nfinding = "SMEM999"\n', ["budgets.toml", "budget 1", "finding", "SMEM999"]),
        ('[[budget]]\nkernel = "*"\nmetric = "dram_write_bytes"\nmax = 1\n', ["dram_write_bytes", "never gated"]),
    ],
)
def test_a_broken_budget_leaves_with_2(run: Run, tmp_path: Path, text: str, says: list[str]) -> None:
    assert_failed(run("check", REPORT, "--budget", budget(tmp_path, text)), 2, *says)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ([REPORT], "nothing to check against"),
        (["--budget", "b.toml"], "there is nothing to analyze"),
        ([REPORT, "--budget", "none.toml"], "there is no budget file none.toml"),
        ([REPORT, "--save-baseline", "x.json", "--format", "xml"], "--format xml"),
        ([REPORT, "--save-baseline", "x.json", "--fail-on", "often"], "--fail-on"),
        ([REPORT, "--save-baseline", "x.json", "-c", "3"], "options of ncu are for programs"),
        (["--save-baseline", "x.json"], "there is nothing to analyze"),
        ([REPORT, "--budget", "limits.toml"], "limits.toml only sets how a baseline is compared"),
        (["--check-budget-only"], "no budget file to check"),
    ],
    ids=lambda value: " ".join(map(str, value[-2:])) if isinstance(value, list) else None,
)
def test_a_wrong_command_line_exits_with_2(run: Run, args: list[str | Path], says: str, tmp_path: Path) -> None:
    (tmp_path / "limits.toml").write_text("[baseline]\ntolerance = 0.1\n", encoding="utf-8")
    assert_failed(run("check", *args), 2, says)


def test_a_broken_budget_comes_before_a_broken_report_and_a_missing_baseline(run: Run, tmp_path: Path) -> None:
    path = budget(tmp_path, "[[budget]")
    (tmp_path / "bad.ncu-rep").write_bytes(b"no report")
    ended = run("check", tmp_path / "bad.ncu-rep", "--budget", path, "--baseline", tmp_path / "none.json")
    assert_failed(ended, 2, "budgets.toml")


def test_budget_files_can_be_checked_alone(run: Run, tmp_path: Path) -> None:
    good = budget(tmp_path, OPEN + CLOSED)
    ended = run("check", "--check-budget-only", good)
    assert (ended.code, ended.out, ended.err) == (0, "", f"{good}: 2 budgets\n")
    bad = tmp_path / "bad.toml"
    bad.write_text("x = 1", encoding="utf-8")
    assert_failed(run("check", "--check-budget-only", good, bad), 2, "bad.toml")


def test_all_errors_of_all_budget_files_are_reported_with_their_lines(run: Run, tmp_path: Path) -> None:
    first = budget(tmp_path, OPEN.replace("min", "maximum") + OPEN + 'level = "fatal"\n')
    second = tmp_path / "rules.toml"
    second.write_text('[[budget]]\nkernel = "*"\nfinding = "SMEM999"\n' * 2, encoding="utf-8")
    ended = run("check", "--check-budget-only", first, second)
    assert ended.code == 2
    for says in (
        f"{first} has 2 errors",
        f"{first}:4, budget 1: maximum: unknown key",
        f"{first}:9, budget 2: level: ",
        f"{second}:1, budget 1: finding: no rule is called 'SMEM999'",
        f"{second}:4, budget 2: finding: no rule is called 'SMEM999'",
    ):
        assert says in ended.err


def test_an_unknown_rule_is_refused_before_anything_is_read(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.ncu-rep").write_bytes(b"no report")
    path = budget(tmp_path, '[[budget]]\nkernel = "*"\nfinding = "SMEM999"\n')
    assert_failed(run("check", tmp_path / "bad.ncu-rep", "--budget", path), 2, "no rule is called 'SMEM999'")


def test_what_passed_is_printed_where_verbose(run: Run, tmp_path: Path) -> None:
    words = ("check", REPORT, "--budget", budget(tmp_path, OPEN), "-o", tmp_path / "gate.txt")
    assert run(*words).out == "gate: open, 1 check passed\n"
    assert "ok       divergentOnWarpBorder" in run(*words, "-v").out
    assert "ok       divergentOnWarpBorder" in (tmp_path / "gate.txt").read_text(encoding="utf-8")


def test_a_missing_metric_comes_with_the_option_that_collects_it(run: Run, tmp_path: Path) -> None:
    ended = run("check", REPORT, "--budget", budget(tmp_path, UNKNOWN), "--format", "github")
    assert "::error file=budgets.toml,line=1,title=launch__nobody_collects_this%3A not judged::" in ended.out
    assert "profile with --metrics launch__nobody_collects_this" in ended.out


# Reports without data, and machines that cannot profile


def test_a_report_without_data_leaves_with_3_even_without_a_baseline(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty.ncu-rep"
    empty.touch()
    ended = run("check", empty, "--budget", budget(tmp_path, OPEN), "--baseline", tmp_path / "none.json")
    assert_failed(ended, 3, "empty.ncu-rep")


def test_metrics_that_are_missing_from_a_report_exit_with_3(run: Run, tmp_path: Path) -> None:
    poor = tmp_path / "poor.ncu-rep"
    scrub(REPORT, poor, keep=lambda name: name.startswith(("gpu__time", "launch__", "device__")))
    ended = run("check", poor, "--budget", budget(tmp_path, OPEN))
    assert (ended.code, ended.err) == (3, "")
    assert "branch_efficiency" in ended.out


def test_live_without_a_gpu_leaves_with_5(tmp_path: Path) -> None:
    path = install(tmp_path)
    ended = ncuview("check", "transposeNaive", "--live", "--budget", budget(tmp_path, OPEN), before=BARE, path=path)
    assert_failed(ended, 5, "NVIDIA GPU")


def test_a_program_needs_a_gpu_and_gets_the_words_after_dashes(tmp_path: Path) -> None:
    ended = ncuview("check", "--budget", budget(tmp_path, OPEN), "--", "./app", "--budget", "its-own")
    assert_failed(ended, 5, "GPU")


def test_a_program_that_fails_leaves_with_6_whatever_else_is_wrong(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(command: list[str], *_: object, **__: object) -> None:
        assert command == ["./app", "-x"]
        raise ProgramFailed("./app ended with status 1")

    monkeypatch.setattr(examine, "examine_program", fails)
    words: list[str | Path] = ["check", "--budget", budget(tmp_path, RENAMED), "--baseline", tmp_path / "none.json"]
    assert_failed(run(*words, "--", "./app", "-x"), 6, "ended with status 1")


def test_want_of_data_comes_before_a_missing_baseline(run: Run, tmp_path: Path) -> None:
    path = budget(tmp_path, RENAMED)
    assert run("check", REPORT, "--budget", path, "--baseline", tmp_path / "none.json").code == 3


def test_a_kernel_of_the_catalogue_is_checked_by_its_recorded_profile(tmp_path: Path) -> None:
    ended = ncuview("check", "divergentWithinWarp", "--recorded", "--budget", budget(tmp_path, CLOSED))
    assert (ended.code, ended.err) == (1, "")


# Baselines


def test_a_baseline_of_version_1_is_compared_with(run: Run) -> None:
    ended = run("check", REPORT, "--kernel-name", "divergentOnWarpBorder", "--baseline", VERSION_1)
    assert (ended.code, ended.err) == (0, "")
    assert "gate: open" in ended.out


def test_the_old_key_of_a_budget_is_noted_on_standard_error(run: Run, tmp_path: Path) -> None:
    path = budget(tmp_path, '[[budget]]\nkernel = "*"\npromised = true\nmax = 1.2\n')
    ended = run("check", "--check-budget-only", path)
    assert ended.code == 0
    assert "budget 1: promised is called predicted now" in ended.err


def test_a_report_is_as_its_own_baseline(main: Path) -> None:
    ended = ncuview("check", REPORT, "--baseline", main)
    assert (ended.code, ended.err) == (0, "")
    assert re.search(r"^gate: open, \d+ checks passed$", ended.out, re.MULTILINE)


def test_a_counter_that_grew_closes_the_gate(run: Run, tmp_path: Path, main: Path) -> None:
    ended = run("check", REPORT, "--baseline", changed(tmp_path, main, halve("divergentWithinWarp", "inst_executed")))
    assert (ended.code, ended.err) == (1, "")
    words = " ".join(ended.out.split())
    assert words.count("FAIL") == 1
    assert re.search(r"inst_executed \(instructions\) is [\d,]+ warp inst, [\d,]+ warp inst in the baseline", words)


def test_a_missing_baseline_leaves_with_4_unless_that_is_allowed(run: Run, tmp_path: Path) -> None:
    none = tmp_path / "none.json"
    ended = run("check", REPORT, "--baseline", none)
    assert ended.code == 4
    words = " ".join(ended.out.split())
    assert "there is no baseline" in words
    assert "--allow-missing-baseline" in words
    assert ended.err == ""
    assert "gate: fails because the baseline was not compared" in ended.out
    annotated = run("check", REPORT, "--baseline", none, "--format", "github").out
    assert f"::error title=baseline%3A inconclusive::there is no baseline {none}" in annotated
    annotated = run("check", REPORT, "--baseline", none, "--allow-missing-baseline", "--format", "github").out
    assert f"::notice title=ncuview%3A comparison with the baseline::there is no baseline {none}" in annotated
    ended = run("check", REPORT, "--baseline", none, "--allow-missing-baseline")
    assert (ended.code, ended.err) == (0, "")
    assert "nothing was compared" in " ".join(ended.out.split())
    both = run("check", REPORT, "--baseline", none, "--budget", budget(tmp_path, CLOSED))
    assert both.code == 4
    assert "FAIL" in both.out, "the checks of the budget are still shown"


def other_gpu(document: Any) -> None:
    document["conditions"]["gpus"] = ["NVIDIA A100"]
    for each in document["kernels"]:
        each["gpu"] = "NVIDIA A100"


def other_ncu(document: Any) -> None:
    document["conditions"]["ncu"] = ["2024.1.0"]


@pytest.mark.parametrize(
    ("change", "difference"),
    [(other_gpu, "GPU NVIDIA A100 before, NVIDIA H200 after"), (other_ncu, "ncu 2024.1 before, 2025.3 after")],
)
def test_a_baseline_of_other_conditions_leaves_with_4_unless_forced(
    run: Run, tmp_path: Path, main: Path, change: Any, difference: str
) -> None:
    other = changed(tmp_path, main, change)
    ended = run("check", REPORT, "--baseline", other, "--output", tmp_path / "gate.json")
    assert ended.code == 4
    assert difference in " ".join(ended.out.split())
    (outcome,) = json.loads((tmp_path / "gate.json").read_text(encoding="utf-8"))["gate"]["checks"]
    assert (outcome["subject"], outcome["result"]) == ("baseline", "inconclusive")
    forced = run("check", REPORT, "--baseline", other, "--force")
    assert (forced.code, forced.err) == (0, "")
    assert difference in " ".join(forced.out.split())


def test_a_baseline_of_other_kernels_leaves_with_4(run: Run, main: Path) -> None:
    ended = run("check", BANKS, "--baseline", main)
    assert ended.code == 4
    assert ended.out.count("no kernel is in both") == 1
    assert "--renamed" not in ended.out
    assert "save the baseline again" in " ".join(ended.out.split())
    assert ended.err == ""


def test_a_file_that_is_no_baseline_leaves_with_2(run: Run, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text("{}", encoding="utf-8")
    assert_failed(run("check", REPORT, "--baseline", bad), 2, str(bad), "schema")


def test_a_regression_is_not_saved_as_the_new_baseline(run: Run, tmp_path: Path, main: Path) -> None:
    worse = changed(tmp_path, main, halve("divergentWithinWarp", "inst_executed"))
    before = worse.read_bytes()
    ended = run("check", REPORT, "--baseline", worse, "--save-baseline", worse)
    assert ended.code == 1
    assert "was not written" in ended.err
    assert worse.read_bytes() == before
    ended = run("check", REPORT, "--save-baseline", worse)
    assert (ended.code, worse.read_bytes()) == (0, main.read_bytes())


def test_copies_of_a_report_are_counted_once(run: Run, tmp_path: Path) -> None:
    copies = [tmp_path / "one.ncu-repz", tmp_path / "two.ncu-repz"]
    for copy in copies:
        copy.write_bytes(REPORT.read_bytes())
    ended = run("check", *copies, "--save-baseline", tmp_path / "kept.json")
    assert ended.code == 0
    assert f"{copies[1]} is a copy of another report and was not counted" in ended.err
    kept = json.loads((tmp_path / "kept.json").read_text(encoding="utf-8"))
    assert {each["repeats"] for each in kept["kernels"]} == {1}


def test_a_baseline_is_saved_in_a_folder_that_exists(run: Run, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    ended = run("check", REPORT, "--save-baseline", tmp_path / "kep" / "main.json")
    assert_failed(ended, 2, "main.json cannot be written", f"Did you mean {tmp_path / 'kept'}?")
    assert not (tmp_path / "kep").exists()


def test_a_misspelt_folder_is_answered_with_the_nearest(run: Run, tmp_path: Path) -> None:
    (tmp_path / "reports").mkdir()
    for word in ("./reportz", "reportz"):
        assert_failed(run("check", word, "--budget", budget(tmp_path, OPEN)), 2, "Did you mean reports?")


# Nothing to check


def test_where_only_a_baseline_is_saved_no_form_says_that_the_gate_is_open(run: Run, tmp_path: Path) -> None:
    names = ["gate.json", "gate.txt", "junit.xml", "gate.md", "gate.html"]
    outputs = [part for name in names for part in ("--output", tmp_path / name)]
    ended = run("check", REPORT, "--save-baseline", tmp_path / "kept.json", *outputs)
    assert (ended.code, ended.out) == (0, "gate: nothing was checked\n")
    for name in names[1:]:
        said = " ".join((tmp_path / name).read_text(encoding="utf-8").split()).lower()
        assert "nothing was checked" in said, name
        assert "gate: open" not in said, name
    said = json.loads((tmp_path / "gate.json").read_text(encoding="utf-8"))["gate"]
    assert (said["closed"], said["nothing_checked"], said["checks"]) == (False, True, [])


def test_a_baseline_that_cannot_be_saved_leaves_no_page_that_says_otherwise(run: Run, tmp_path: Path) -> None:
    answer = tmp_path / "gate.json"
    allowed = budget(tmp_path, OPEN)
    (tmp_path / "taken").mkdir()
    ended = run("check", REPORT, "--budget", allowed, "--save-baseline", tmp_path / "taken", "-o", answer)
    assert_failed(ended, 2, "taken cannot be written")
    document = json.loads(answer.read_text(encoding="utf-8"))
    assert (document["error"]["exit_code"], document.get("gate")) == (2, None)


# Outputs


def test_each_error_of_a_budget_is_an_annotation_at_its_line(run: Run, tmp_path: Path) -> None:
    budget(tmp_path, '[[budget]]\nkernle = "a"\nfinding = "SMEM01"\n')
    junit = tmp_path / "junit.xml"
    ended = run("check", REPORT, "--budget", "budgets.toml", "--format", "github", "--output", junit)
    assert ended.code == 2
    assert all(word in ended.out for word in ("kernle: unknown key", "finding: no rule is called"))
    assert all(line.startswith("::error file=budgets.toml,line=") for line in ended.out.splitlines())
    assert "Incomplete" not in ended.out + junit.read_text(encoding="utf-8")


def test_one_run_writes_many_forms(tmp_path: Path) -> None:
    names = ["gate.json", "gate.txt", "junit.xml", "gate.md", "gate.sarif"]
    outputs = [part for name in names for part in ("--output", tmp_path / name)]
    path = budget(tmp_path, OPEN + CLOSED)
    root = ("--source-root", shipped("kernels"))
    ended = ncuview("check", REPORT, "--budget", path, "--format", "github", *root, *outputs, cwd=tmp_path)
    assert (ended.code, ended.err) == (1, "".join(f"{tmp_path / name}: written\n" for name in names))
    assert "::error file=divergence/divergentWithinWarp.cu" in ended.out
    assert all((tmp_path / name).stat().st_size for name in names)
    document = json.loads((tmp_path / "gate.json").read_text(encoding="utf-8"))
    assert sorted(each["result"] for each in document["gate"]["checks"]) == ["failed", "passed"]
    assert "gate: closed, 1 of 2 checks failed" in (tmp_path / "gate.txt").read_text(encoding="utf-8")


def test_spreads_are_measured_from_reports_and_saved(tmp_path: Path) -> None:
    transfers = shipped("kernels") / "transfers" / "h200.ncu-repz"
    ended = ncuview("calibrate", "--repeat", "6", "--from", transfers, XDG_CONFIG_HOME=str(tmp_path))
    assert ended.code == 0, ended.err
    assert ended.err == f"{tmp_path / 'ncuview' / 'spread.json'}: written, for NVIDIA H200\n"
    assert re.search(r"^overlappedCopies +5 +0\.\d\d%", ended.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("args", "code", "says"),
    [
        (["transposeNaive"], 2, "kernels and programs are for --repeat"),
        (["--repeat", "1", "transposeNaive"], 2, "--repeat takes 2 or more"),
        (["--repeat", "6"], 2, "--repeat takes kernels"),
        (["--repeat", "6", "--from", REPORT], 3, "no kernel was launched twice"),
        (["--repeat", "6", "--", "./app"], 5, "GPU"),
    ],
)
def test_calibrating_spreads_names_what_is_missing(
    args: list[str | Path], code: int, says: str, tmp_path: Path
) -> None:
    assert_failed(ncuview("calibrate", *args, before=BARE, XDG_CONFIG_HOME=str(tmp_path)), code, says)


def test_k_restricts_what_of_the_baseline_and_the_budget_is_checked(run: Run, main: Path, tmp_path: Path) -> None:
    path = budget(tmp_path, OPEN + CLOSED)
    ended = run("check", REPORT, "--baseline", main, "--budget", path, "-k", "divergentOnWarpBorder")
    words = " ".join(ended.out.split())
    assert (ended.code, ended.err) == (0, "")
    assert "-k divergentOnWarpBorder leaves out " in words
    assert " of 15 kernels of the baseline and 1 of 2 entries of the budget" in words
    assert "was not launched now" not in words
    assert "warning" not in words
