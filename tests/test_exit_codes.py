"""The contract of exit codes: which comes first when two apply, and what a failure leaves in its output files.

That a cause leads to its code is tested with each command: in tests/test_cli.py and tests/gate/test_check_command.py.
"""

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
from tests.command_line import RECORDED, Ended, environment, ncuview

PRECEDENCE = (2, 5, 6, 3, 4, 1, 0)
"""The order of the contract, written down once more."""


def budget(folder: Path, text: str) -> Path:
    path = folder / "budget.toml"
    path.write_text(text)
    return path


BUDGET = '[[budget]]\nkernel = "*"\nmetric = "gst_transactions_per_request"\nmax = 1000\n'


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations(PRECEDENCE, 2)))
def test_of_two_codes_the_graver_one_is_given(first: int, second: int) -> None:
    assert most_serious([first, second]) == first
    assert most_serious([second, first]) == first


def test_nothing_grave_is_a_success() -> None:
    assert most_serious([]) == 0


def test_every_error_has_a_code_of_the_contract() -> None:
    def below(kind: type[NcuviewError]) -> set[type[NcuviewError]]:
        return {kind} | {each for direct in kind.__subclasses__() for each in below(direct)}

    assert {each.exit_code for each in below(NcuviewError)} == {70, 2, 3, 4, 5, 6}


def test_2_before_5(tmp_path: Path) -> None:
    bad = budget(tmp_path, "[[budget]]\nkernel = 1\n")
    assert ncuview("check", "transposeCoalesced", "--live", "--budget", bad).code == 2


def test_70_for_a_shipped_quantity_that_fails(tmp_path: Path) -> None:
    broken = (
        "from ncuview.metrics.quantities.launch import gpu_fill as f; "
        "f.__code__ = (lambda *given: 1 / 0).__code__.replace(co_filename=f.__code__.co_filename)"
    )
    ended = ncuview("analyze", "transposeCoalesced", before=broken, XDG_STATE_HOME=str(tmp_path))
    assert ended.code == 70
    assert "ZeroDivisionError" in ended.err
    assert json.loads((tmp_path / "ncuview" / "last-error.json").read_text())["exit_code"] == 70


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
    allowed = str(budget(tmp_path, BUDGET))
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
