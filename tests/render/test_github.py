"""Workflow commands: each on its line, ten of a level, and nothing from outside is a command."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ncuview.records.diagnosis import Diagnosis, SourceLine
from ncuview.records.gate import Gate
from ncuview.render.annotations import workflow_commands
from ncuview.render.remarks import rule_id
from tests.hostile import each_hostile_text, poisoned
from tests.render.gate_sample import failed_error, failed_warning, gate, poisoned_gate
from tests.render.sample import CHECKOUT, diagnosis, launch_with_advice

COMMAND = re.compile(r"::(error|warning|notice) (?:file=([^,:]*),line=(\d+),)?title=([^,:]*)::(.*)")


def commands(text: str) -> list[tuple[str, ...]]:
    """What GitHub reads: lines that start with ``::``."""
    found = []
    for line in text.splitlines():
        if line.startswith(("::", "##[")):
            read = COMMAND.fullmatch(line)
            assert read, line
            found.append(tuple(part or "" for part in read.groups()))
    return found


def test_levels_files_and_lines() -> None:
    text = workflow_commands(diagnosis(), gate(), CHECKOUT)
    assert text.startswith("gate: fails because data is missing (values of metrics), 1 of 6 checks failed")
    found = commands(text)
    assert [level for level, *_ in found] == [*["error"] * 3, *["warning"] * 2, *["notice"] * 2]
    assert found[0] == (
        *("error", "", "", "duration_ns%3A failed"),
        (
            "transposeCoalesced(float *, const float *, int): took 328,320 ns, 9.4%25 more than the 300,000 ns that are"
            " allowed (at most 300,000 ns; budget.toml, budget 1)."
        ),
    )
    assert found[3][1:4] == ("transpose/coalesced.cu", "63", "SMEM001 shared-bank-conflict%3A failed")
    assert found[5][3:] == ("ncuview%3A comparison with the baseline", "the baseline is of another driver.")


def test_a_check_without_a_line_of_code_is_at_its_line_of_the_budget() -> None:
    line = SourceLine(str(CHECKOUT / "ci" / "budget.toml"), 7, 1.0, "")
    checks = (replace(failed_error(), limit_line=(line,)), replace(failed_warning(), limit_line=(line,)))
    found = commands(workflow_commands(diagnosis(), Gate(checks, "error"), CHECKOUT))
    assert [place for _, *place, _, _ in found[:2]] == [["ci/budget.toml", "7"], ["transpose/coalesced.cu", "63"]]


def test_the_remark_of_an_open_gate_is_shown_before_advice() -> None:
    found = commands(workflow_commands(diagnosis(), Gate((), "error", "there is no baseline main.json"), CHECKOUT))
    assert found[0][3:] == ("ncuview%3A comparison with the baseline", "there is no baseline main.json.")


def test_what_the_reports_do_not_record_is_no_annotation() -> None:
    found = commands(workflow_commands(diagnosis(), Gate((), "error", unrecorded="no clock control"), CHECKOUT))
    assert found == commands(workflow_commands(diagnosis(), None, CHECKOUT))


def test_without_a_gate_advice_is_a_notice() -> None:
    found = commands(workflow_commands(diagnosis(), None, CHECKOUT))
    assert [level for level, *_ in found] == ["notice", "notice"]
    assert found[0][3] == "SMEM001 Pad the tile by one column%3A 2.18x faster"


@pytest.mark.parametrize(("kernels", "shown"), [(9, 9), (10, 10), (11, 10), (50, 10)])
def test_at_most_ten_of_a_level_and_the_last_counts_the_rest(kernels: int, shown: int) -> None:
    launch = launch_with_advice()
    one = replace(launch, outcomes=launch.outcomes[:1])
    launches = tuple(replace(one, demangled=f"k{number}(int)") for number in range(kernels))
    checks = tuple(replace(failed_error(), kernel=launch.demangled) for launch in launches)
    found = commands(workflow_commands(Diagnosis(launches, ()), Gate(checks, "error"), CHECKOUT))
    for level in ("error", "notice"):
        of_level = [message for word, _, _, _, message in found if word == level]
        assert len(of_level) == shown
        assert (f"{kernels - 9} more" in of_level[-1]) == (kernels > 10)


@each_hostile_text
def test_no_name_makes_a_command(text: str) -> None:
    assert len(commands(workflow_commands(poisoned(diagnosis(), text), poisoned_gate(text), CHECKOUT))) >= 6


@given(st.text(st.characters(), max_size=20))
def test_no_text_at_all_makes_a_command_or_breaks_one(text: str) -> None:
    assume(text)  # an empty remark is none
    assume(rule_id(text) != text)  # else the check is about the rule of the finding, and says it all
    plain = commands(workflow_commands(poisoned(diagnosis(), "x"), poisoned_gate("x"), CHECKOUT))
    found = commands(workflow_commands(poisoned(diagnosis(), text), poisoned_gate(text), CHECKOUT))
    assert [level for level, *_ in found] == [level for level, *_ in plain]
