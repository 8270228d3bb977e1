"""The contract of exit codes: each one from several causes, and which comes first when two apply."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ncuview.base.errors import NcuviewError
from ncuview.gate.verdict import most_serious
from ncuview.reader.precheck import read_report
from tests.test_cli import CALIBRATION, RECORDED, ROOT, Ended, environment, ncuview

PRECEDENCE = (2, 5, 6, 3, 4, 1, 0)
"""The order of the contract, written down once more."""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    """A complete report, not compressed, so that it can be cut and changed."""
    path = tmp_path / "complete.ncu-rep"
    path.write_bytes(read_report(RECORDED))
    return path


def budget(folder: Path, text: str) -> Path:
    path = folder / "budget.toml"
    path.write_text(text)
    return path


OPEN = '[[budget]]\nkernel = "*"\nmetric = "gst_transactions_per_request"\nmax = 1000\n'
CLOSED = '[[budget]]\nkernel = "*"\nmetric = "gst_transactions_per_request"\nmax = 0.5\n'


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(PRECEDENCE, 2)))
def test_of_two_codes_the_graver_one_is_given(first: int, second: int) -> None:
    assert most_serious([first, second]) == first
    assert most_serious([second, first]) == first


def test_every_error_has_a_code_of_the_contract() -> None:
    def below(kind: type[NcuviewError]) -> set[type[NcuviewError]]:
        return {kind} | {each for direct in kind.__subclasses__() for each in below(direct)}

    assert {each.exit_code for each in below(NcuviewError)} == {70, 2, 3, 4, 5, 6}


@pytest.mark.parametrize(
    "words",
    [
        ("analyze", RECORDED),
        ("ladder", "transpose", "--recorded"),
        ("diff", RECORDED, RECORDED),
        ("kernels",),
    ],
    ids=lambda words: words[0],
)
def test_0_when_all_was_read(words: tuple[str | Path, ...]) -> None:
    assert ncuview(*words).code == 0


def test_0_and_1_are_what_the_gate_says(tmp_path: Path) -> None:
    assert ncuview("check", RECORDED, "--budget", budget(tmp_path, OPEN)).code == 0
    assert ncuview("check", RECORDED, "--budget", budget(tmp_path, CLOSED)).code == 1
    assert ncuview("check", RECORDED, "--budget", budget(tmp_path, CLOSED), "--exit-zero").code == 0
    assert ncuview("check", RECORDED, "--budget", budget(tmp_path, CLOSED), "--fail-on", "off").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("analyze", "noSuchKernel"),
        ("analyze", RECORDED, "--live"),
        ("analyze", RECORDED, "--format", "poem"),
        ("analyze", RECORDED, "--select", "NOPE999"),
        ("check", RECORDED),
        ("analyze", RECORDED, "--rules", ROOT / "no-such-folder"),
    ],
    ids=str,
)
def test_2_for_what_was_typed(words: tuple[str | Path, ...]) -> None:
    assert ncuview(*words).code == 2


def test_2_for_files_of_the_user(tmp_path: Path) -> None:
    assert ncuview("check", RECORDED, "--budget", budget(tmp_path, "[[budget]]\nkernel = 1\n")).code == 2
    (tmp_path / "rules" / "topic").mkdir(parents=True)
    (tmp_path / "rules" / "topic" / "bad-rule.toml").write_text('code = "X"\n')
    assert ncuview("analyze", RECORDED, "--rules", tmp_path / "rules").code == 2


def test_3_without_usable_data(tmp_path: Path, report: Path) -> None:
    report.write_bytes(report.read_bytes()[:5000])
    (tmp_path / "empty.ncu-rep").touch()
    (tmp_path / "folder").mkdir()
    for bad in (report, tmp_path / "empty.ncu-rep", tmp_path / "folder", tmp_path / "gone.ncu-rep"):
        assert ncuview("analyze", bad).code == 3, bad
    assert ncuview("analyze", RECORDED, "-k", "noSuchKernel").code == 3


def test_4_without_a_comparable_baseline(tmp_path: Path) -> None:
    baseline = tmp_path / "baseline.json"
    assert ncuview("check", CALIBRATION, "--baseline", baseline).code == 4
    assert ncuview("check", RECORDED, "--save-baseline", baseline).code == 0
    assert ncuview("check", RECORDED, "--baseline", baseline).code == 0
    assert ncuview("check", CALIBRATION, "--baseline", baseline).code == 4  # no kernel in common
    document = json.loads(baseline.read_text())
    text = baseline.read_text().replace("NVIDIA H200", "NVIDIA A100")
    assert document
    baseline.write_text(text)
    assert ncuview("check", RECORDED, "--baseline", baseline).code == 4


@pytest.mark.parametrize(
    "words",
    [
        ("analyze", "transposeCoalesced", "--live"),
        ("analyze", "--", "/bin/true"),
        ("ladder", "transpose", "--live"),
        ("calibrate",),
    ],
    ids=str,
)
def test_5_without_gpu_and_ncu(words: tuple[str, ...]) -> None:
    assert ncuview(*words).code == 5


# Two at once, as far as this machine can bring them about.
def test_2_before_5(tmp_path: Path) -> None:
    bad = budget(tmp_path, "[[budget]]\nkernel = 1\n")
    assert ncuview("check", "transposeCoalesced", "--live", "--budget", bad).code == 2


def test_2_before_3(tmp_path: Path) -> None:
    bad = budget(tmp_path, "[[budget]]\nkernel = 1\n")
    assert ncuview("check", tmp_path / "gone.ncu-rep", "--budget", bad).code == 2


def test_3_before_4(tmp_path: Path) -> None:
    assert ncuview("check", tmp_path / "gone.ncu-rep", "--baseline", tmp_path / "gone.json").code == 3


def test_4_before_1(tmp_path: Path) -> None:
    closed = budget(tmp_path, CLOSED)
    assert ncuview("check", RECORDED, "--budget", closed, "--baseline", tmp_path / "gone.json").code == 4


def error_of(ended: Ended) -> dict[str, object]:
    error: dict[str, object] = ended.document["error"]
    return error


def test_a_failure_is_json_too_where_json_was_asked_for(tmp_path: Path) -> None:
    ended = ncuview("analyze", tmp_path / "gone.ncu-rep", "--format", "json")
    assert ended.code == 3
    assert (error_of(ended)["id"], error_of(ended)["exit_code"]) == ("ReportUnreadable", 3)
    ended = ncuview("analyze", "--format", "json", "--", "/bin/true")
    assert (ended.code, error_of(ended)["id"]) == (5, "GpuNotFound")


@pytest.mark.parametrize(
    "words",
    [("analyze",), ("check", "--budget", "{budget}"), ("diff", str(RECORDED)), ("report",)],
    ids=lambda words: words[0],
)
def test_a_failure_takes_the_place_of_what_an_earlier_run_wrote(words: tuple[str, ...], tmp_path: Path) -> None:
    allowed = str(budget(tmp_path, OPEN))
    written = tmp_path / "answer.json"
    command = [word.format(budget=allowed) for word in words]
    assert ncuview(*command, str(RECORDED), "-o", str(written)).code == 0
    before = json.loads(written.read_text())
    assert not before.get("error")
    assert not before.get("errors")
    assert ncuview(*command, str(tmp_path / "gone.ncu-rep"), "-o", str(written)).code == 3
    assert json.loads(written.read_text())["error"]["exit_code"] == 3


def test_an_output_that_cannot_be_written_does_not_hide_the_failure(tmp_path: Path) -> None:
    ended = ncuview("analyze", tmp_path / "gone.ncu-rep", "-o", "json:/dev/full")
    assert ended.code == 3
    assert "does not exist" in ended.err


def test_a_closed_standard_error_changes_no_exit_code(tmp_path: Path) -> None:
    reads, writes = os.pipe()
    os.close(reads)
    words = [sys.executable, "-m", "ncuview", "analyze", str(tmp_path / "gone.ncu-rep")]
    done = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=writes, env=environment({}), check=False)
    os.close(writes)
    assert done.returncode == 3
