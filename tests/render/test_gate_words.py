"""The sentence of a gate: open or closed, and why."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncuview.gate.verdict import BASELINE, PROFILE, check_of_no_launch
from ncuview.records.gate import Check, Gate, Level
from ncuview.records.profile import NOWHERE
from ncuview.render.gate_words import closes, gate_sentence, is_closed, unpassed_checks
from tests.render.gate_sample import failed_error, failed_warning, gate, inconclusive, not_judged, passed


@pytest.mark.parametrize(
    ("check", "fail_on", "closed"),
    [
        (failed_error(), "error", True),
        (failed_error(), "warn", True),
        (failed_error(), "off", False),
        (failed_warning(), "error", False),
        (failed_warning(), "warn", True),
        (failed_warning(), "off", False),
        (replace(failed_error(), level="off"), "warn", False),
        (passed(), "warn", False),
        (inconclusive(), "error", True),
        (not_judged(), "error", True),
        (replace(inconclusive(), level="warn"), "error", False),
    ],
)
def test_only_failures_of_the_level_close_the_gate(check: Check, fail_on: Level, closed: bool) -> None:
    gate = Gate((check,), fail_on)
    assert closes(check, gate) is closed
    assert is_closed(gate) is closed


def test_the_sentence_counts_what_did_not_pass() -> None:
    assert gate_sentence(gate()) == (
        "gate: fails because data is missing (values of metrics), 1 of 6 checks failed, 1 could not be judged, 1"
        " inconclusive, 2 warnings (exit code 3)"
    )


@pytest.mark.parametrize(
    ("checks", "said"),
    [
        ([], "gate: nothing was checked"),
        ([passed()], "gate: open, 1 check passed"),
        ([passed(), passed()], "gate: open, 2 checks passed"),
        ([failed_error(), failed_error(), passed()], "gate: closed, 2 of 3 checks failed (exit code 1)"),
        ([failed_warning(), passed(), passed()], "gate: open, 2 checks passed, 1 warning"),
        ([failed_error(), failed_warning(), passed()], "gate: closed, 1 of 3 checks failed, 1 warning (exit code 1)"),
        (
            [inconclusive(), failed_error()],
            "gate: fails because it is inconclusive, 1 of 2 checks failed, 1 inconclusive (exit code 4)",
        ),
        (
            [not_judged(), replace(not_judged(), grid=NOWHERE)],
            (
                "gate: fails because data is missing (values of metrics, kernels that the budget names),"
                " 2 of 2 checks could not be judged (exit code 3)"
            ),
        ),
        (
            [check_of_no_launch(PROFILE, "complete", "not judged", "", PROFILE)],
            (
                "gate: fails because data is missing (launches of the profile), 1 of 1 checks could not be judged"
                " (exit code 3)"
            ),
        ),
        (
            [check_of_no_launch(BASELINE, "comparable", "inconclusive", "", "baseline main.json")],
            "gate: fails because the baseline was not compared, 1 of 1 checks inconclusive (exit code 4)",
        ),
    ],
)
def test_the_verdict_is_one_sentence(checks: list[Check], said: str) -> None:
    assert gate_sentence(Gate(tuple(checks), "error")) == said


def test_errors_weigh_most_and_what_passed_is_left_out() -> None:
    weighed = unpassed_checks(Gate(tuple(reversed(gate().checks)), "error"))
    assert weighed[0] == failed_error()
    assert [check.result for check in weighed] == ["failed", "inconclusive", "not judged", "failed", "failed"]


def test_what_is_not_open_by_a_result_is_not_called_open() -> None:
    sentence = "gate: nothing was checked, 1 not judged"
    assert gate_sentence(Gate((not_judged(),), "off")) == sentence
    assert gate_sentence(Gate((replace(not_judged(), level="warn"),), "error")) == sentence
