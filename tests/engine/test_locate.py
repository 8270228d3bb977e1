"""Where waste is: lines with their code, calls of inlined functions, and instructions without a known line."""

from __future__ import annotations

import gc
import re
import weakref
from dataclasses import replace
from pathlib import Path

import pytest

from ncuview.api import load_rules
from ncuview.engine.locate import CONTEXT, HOW_TO_GET_LINES, LONGEST, NOT_IN_REPORT, Places, Where
from ncuview.metrics.analysis import Analysis
from ncuview.reader import source
from ncuview.reader.inlining import with_call_sites
from ncuview.records.profile import CallSite, Profile
from tests import profiles
from tests.builders import FILE, WARPS, Instruction, Launch, load, make_profile

RULES = {rule.text.name: rule for rule in load_rules()}
PROGRAM_12 = Path(__file__).parents[2] / "validation" / "h200" / "p012.ncu-repz"
HEADER = "include/helpers.cuh"
CODE = "\n".join(f"\tcode of line {number};" for number in range(1, 41))


def scattered(line: int, waste: float, file: str = FILE, register: int = 4) -> Instruction:
    """A load that fetches so many sectors more than it needs, in units of a sector for each warp."""
    return replace(load(register, line, sectors=(4.0 + waste) * WARPS), file=file)


def profile_of(*instructions: Instruction, sources: dict[str, str] | None = None) -> Profile:
    start = Instruction("LDC R1, c[0x0][0x28]", 1, FILE)
    given = {FILE: CODE, HEADER: CODE} if sources is None else sources
    return make_profile(Launch(instructions=[start, *instructions], sources=given))


def where(profile: Profile, rule: str = "uncoalesced-global-load", launch: int = 0) -> Where:
    return Places(Analysis(profile)).of(RULES[rule], launch)


def test_a_line_is_shown_with_the_code_around_it() -> None:
    [line] = where(profile_of(scattered(20, 28))).lines
    assert (line.file, line.line, line.share, line.code) == (FILE, 20, 1.0, "code of line 20;")
    assert [each.line for each in line.around] == list(range(20 - CONTEXT, 20 + CONTEXT + 1))
    assert line.around[0].text == "    code of line 18;"
    assert (line.inlined, line.called_from, line.remark) == (False, (), "")


@pytest.mark.parametrize(("hot", "shown"), [(1, [1, 2, 3]), (2, [1, 2, 3, 4]), (40, [38, 39, 40])])
def test_nothing_is_shown_before_the_first_line_or_after_the_last(hot: int, shown: list[int]) -> None:
    assert [each.line for each in where(profile_of(scattered(hot, 28))).lines[0].around] == shown


def test_empty_lines_do_not_surround_a_line_but_stay_between_lines() -> None:
    profile = profile_of(scattered(3, 28), sources={FILE: "\n\nhot\n\nnext\n"})
    assert [(each.line, each.text) for each in where(profile).lines[0].around] == [(3, "hot"), (4, ""), (5, "next")]


def test_a_very_long_line_is_cut() -> None:
    profile = profile_of(scattered(1, 28), sources={FILE: "x" * 100_000})
    assert where(profile).lines[0].code == "x" * LONGEST


def test_a_form_feed_does_not_move_the_lines() -> None:
    assert where(profile_of(scattered(2, 28), sources={FILE: "a\fb\nhot"})).lines[0].code == "hot"


@pytest.mark.parametrize("sources", [{}, {FILE: "only one line"}])
def test_a_line_whose_source_is_not_there_says_so(sources: dict[str, str]) -> None:
    [line] = where(profile_of(scattered(20, 28), sources=sources)).lines
    assert (line.code, line.around, line.remark) == ("", (), NOT_IN_REPORT)


def test_a_file_is_split_once_for_all_findings_in_it_and_kept_no_longer_than_its_profile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    split: list[str] = []

    def watched(text: str) -> list[str]:
        split.append(text)
        return text.split("\n")

    monkeypatch.setattr(source, "lines_of", watched)
    profile = profile_of(*(scattered(number, 28) for number in (3, 20, 30)))
    known = Places(Analysis(profile))
    places = [known.of(RULES["uncoalesced-global-load"], 0) for _ in range(3)]
    assert [len(each.lines) for each in places] == [3, 3, 3]
    assert split == [CODE]
    assert places[0].lines[0].around is places[1].lines[0].around, "launches of one kernel share their lines"
    gone = weakref.ref(profile)
    del profile, known
    gc.collect()
    assert gone() is None
    assert where(profile_of(scattered(2, 28), sources={FILE: "a\nb"})).lines[0].code == "b", "another's is another"


def test_the_remark_on_a_file_is_shown_with_its_lines() -> None:
    profile = replace(profile_of(scattered(20, 28)), source_remarks={("made.ncu-rep", FILE): "it has changed"})
    assert where(profile).lines[0].remark == "it has changed"


def test_the_worst_line_is_named_however_little_it_has() -> None:
    [line] = where(profile_of(*(scattered(number, 28) for number in range(1, 31)))).lines
    assert line.share == pytest.approx(1 / 30)


def test_shares_are_of_all_the_waste_lines_known_or_not() -> None:
    found = where(profile_of(scattered(20, 30), scattered(0, 10, file="")))
    assert [line.share for line in found.lines] == pytest.approx([0.75])
    assert [each.share for each in found.instructions] == pytest.approx([0.25])


def test_without_lines_the_instructions_are_named() -> None:
    loads = [scattered(0, waste, file="", register=at) for at, waste in enumerate((4.0, 1.0, 3.0, 2.0))]
    found = where(profile_of(*loads, sources={}))
    assert not found.lines
    assert [(each.address, each.sass[:8]) for each in found.instructions] == [
        (16, "LDG.E R0"),
        (48, "LDG.E R2"),
        (64, "LDG.E R3"),
    ]
    assert [each.share for each in found.instructions] == pytest.approx([0.4, 0.3, 0.2])
    assert found.lines_wanted == HOW_TO_GET_LINES


def test_in_unrolled_code_instructions_are_named_however_little_each_has() -> None:
    found = where(profile_of(*(scattered(0, 28, file="") for _ in range(40))))
    assert len(found.instructions) == 3
    assert found.instructions[0].share == pytest.approx(1 / 40)


def test_a_small_share_of_waste_without_lines_shows_no_instructions() -> None:
    assert where(profile_of(scattered(20, 99), scattered(0, 1, file=""))).lines_wanted == ""


def test_inlined_code_names_the_lines_that_call_it_the_worst_first() -> None:
    profile = profile_of(scattered(20, 10, HEADER), scattered(20, 30, HEADER), scattered(20, 10, HEADER))
    calls = {16: CallSite(FILE, 7), 32: CallSite(FILE, 9), 48: CallSite(FILE, 7)}
    [line] = where(replace(profile, call_sites={0: calls})).lines
    assert (line.file, line.inlined) == (HEADER, True)
    assert line.called_from == (CallSite(FILE, 9, "code of line 9;"), CallSite(FILE, 7, "code of line 7;"))


def test_without_calls_a_line_of_another_file_is_just_inlined() -> None:
    [line] = where(profile_of(scattered(20, 10, HEADER))).lines
    assert (line.inlined, line.called_from) == (True, ())


def test_a_function_that_is_not_inlined_is_not_said_to_be() -> None:
    profile = replace(profile_of(scattered(20, 10, HEADER)), call_sites={0: {}})
    assert not where(profile).lines[0].inlined


def test_kernels_of_one_file_keep_their_lines_apart() -> None:
    first, second = (Launch(instructions=[scattered(line, 28)], sources={FILE: CODE}) for line in (5, 30))
    profile = make_profile(first, second)
    assert [where(profile, launch=launch).lines[0].code for launch in (0, 1)] == [
        "code of line 5;",
        "code of line 30;",
    ]


def test_only_accesses_that_the_rule_is_about_are_counted() -> None:
    profile = profile_of(scattered(20, 28))
    assert where(profile, "uncoalesced-global-store") == Where()


def test_a_rule_without_waste_per_instruction_has_no_places() -> None:
    assert where(profile_of(scattered(20, 28)), "partial-warps") == Where()


def test_without_metrics_per_instruction_there_are_no_places() -> None:
    profile = profile_of(scattered(20, 28))
    without = profile.instructions.drop(columns="memory_l2_theoretical_sectors_global")
    assert where(replace(profile, instructions=without)) == Where()


@pytest.mark.validation
def test_a_recorded_launch_without_its_line_table_still_points_at_its_load() -> None:
    profile = profiles.profile_of(PROGRAM_12, kernel="k12a")
    stripped = replace(profile, instructions=profile.instructions.assign(line=0, file=""), sources={})
    found = where(stripped, "narrow-global-access")
    assert not found.lines
    assert found.instructions
    assert found.lines_wanted == HOW_TO_GET_LINES
    texts = stripped.instructions.set_index("address")["sass"]
    assert all(texts[each.address] == each.sass for each in found.instructions)


@pytest.mark.validation
def test_a_recorded_device_function_is_named_with_its_caller() -> None:
    """What waits for memory in k12a are three loops in functions that the kernel calls one after the other."""
    profile = with_call_sites(profiles.profile_of(PROGRAM_12, kernel="k12a"))
    found = where(profile, "narrow-global-access")
    assert {re.split(r"\(", call.code)[0] for line in found.lines for call in line.called_from} == {
        "stage_bias",
        "stage_gelu",
        "stage_residual",
    }
    assert sum(line.share for line in found.lines) <= 1.0 + 1e-9
