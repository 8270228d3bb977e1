"""A comparison as a page and as JSON: the sentence, the prediction, the schema, and hostile text."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from math import nan
from typing import Any, get_args

import pytest

from ncuview.comparison.compare import Comparison, compare
from ncuview.comparison.prediction import PredictionVerdict, WasteState
from ncuview.engine.rule_file import OPTIMIZATIONS
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis, Passed, RuleId, TextbookMetric
from ncuview.records.profile import Device
from ncuview.render.change_words import change_sentence
from ncuview.render.comparison import comparison_page, faster_words
from ncuview.render.document import as_json
from ncuview.render.outputs import output_text
from tests.hostile import each_hostile_text, poisoned
from tests.render.sample import advice_finding, diagnosis, launch_near_peak, launch_with_advice
from tests.render.schema import problems as problems_of
from tests.render.schema import schema
from tests.render.test_document import refuse_constant
from tests.render.test_pages import ACTS_ON_A_TERMINAL, COLOR, too_wide


def measured(launch: LaunchDiagnosis, **values: float) -> LaunchDiagnosis:
    return replace(launch, metrics={name: TextbookMetric(value, "", name) for name, value in values.items()})


def before() -> LaunchDiagnosis:
    return measured(
        launch_with_advice(),
        shared_bank_conflict_ways=16.5,
        shared_load_transactions=67_108_864,
        shared_store_transactions=2_097_152,
        inst_executed=2.5e7,
    )


def after() -> LaunchDiagnosis:
    padded = measured(
        launch_near_peak(),
        shared_bank_conflict_ways=1.0,
        shared_load_transactions=2_097_152,
        shared_store_transactions=2_097_152,
        inst_executed=2.5e7,
    )
    return replace(padded, kernel="transposeCoalesced", demangled=launch_with_advice().demangled)


def comparison() -> Comparison:
    """The tile is padded; a kernel is gone and another is new."""
    was = replace(diagnosis(), launches=(before(), replace(launch_near_peak(), kernel="gone", demangled="gone(int)")))
    now = replace(diagnosis(), launches=(after(), *[replace(launch_near_peak(), kernel="new", demangled="new()")] * 2))
    return compare(was, now)


def page(answer: Comparison, width: int = 80) -> str:
    return comparison_page(answer, width=width, color=False)


def words(answer: Comparison) -> str:
    return " ".join(page(answer).split())


def document_of(answer: Comparison) -> Any:
    return json.loads(as_json(answer), parse_constant=refuse_constant)


def problems(document: Any) -> list[Any]:
    return problems_of(document, "comparison")


def test_the_sentence_names_the_mechanism_the_bottleneck_and_the_time() -> None:
    assert change_sentence(comparison().pairs[0]) == "bank conflicts 16.5 -> 1; bottleneck l1_data -> dram; time -57%"


def test_a_change_that_costs_time_is_named_as_against_the_gain() -> None:
    slower = compare(
        Diagnosis(
            (measured(before(), shared_bank_conflict_ways=1.0, shared_load_transactions=1e6, inst_executed=9e7),), ()
        ),
        Diagnosis(
            (
                measured(
                    replace(after(), units={"l1_data": 0.9, "issue": 0.3}),
                    shared_bank_conflict_ways=4.0,
                    shared_load_transactions=4e6,
                    inst_executed=3e7,
                ),
            ),
            (),
        ),
    )
    assert "against it, bank conflicts 1 -> 4" in change_sentence(slower.pairs[0])


def test_a_finding_that_is_gone_is_the_mechanism_where_no_counter_explains_the_time() -> None:
    bare = (replace(before(), metrics={}, units={}), replace(after(), metrics={}, units={}))
    (pair,) = compare(Diagnosis(bare[:1], ()), Diagnosis(bare[1:], ())).pairs
    assert change_sentence(pair).startswith("shared-bank-conflict gone; ")


@pytest.mark.parametrize(
    ("ns", "said"),
    [
        (328_320.0, "time unchanged within the 5% that runs differ by"),
        (340_000.0, "time unchanged within the 5% that runs differ by"),
        (295_488.0, "time -10%"),
        (361_152.0, "time +10%"),
        (3_283_200.0, "time x10"),
        (nan, "time unknown"),
    ],
)
def test_the_time_is_said_as_far_as_it_is_meant(ns: float, said: str) -> None:
    (pair,) = compare(Diagnosis((before(),), ()), Diagnosis((replace(before(), duration_ns=ns),), ())).pairs
    assert change_sentence(pair).endswith(said)


@pytest.mark.parametrize(
    ("speedup", "said"), [(2.0, "2.00x faster"), (0.5, "2.00x slower"), (1.0, "unchanged"), (0.999, "unchanged")]
)
def test_a_factor_below_one_is_a_loss(speedup: float, said: str) -> None:
    assert faster_words(speedup) == said


def test_the_page_shows_predicted_and_measured_gain() -> None:
    assert (
        "Advice shared_memory_padding: 2.18x predicted (1.94x to 2.29x), 2.32x measured, above the prediction. The"
        " counters show that it was made: its evidence is gone." in words(comparison())
    )


def test_a_gain_without_a_change_of_the_waste_is_compared_with_no_prediction() -> None:
    same = replace(before(), duration_ns=before().duration_ns / 2.1)
    text = words(compare(Diagnosis((before(),), ()), Diagnosis((same,), ())))
    assert "time -52%" in text
    assert " measured, " not in text


def test_kernels_of_one_side_are_listed_with_how_often_they_ran() -> None:
    text = words(comparison())
    assert "Only before: gone with grid 256x256, block 32x8" in text
    assert "Only after: new with grid 256x256, block 32x8 (2 launches)" in text
    assert "1 launch in both: 328.3 us before, 141.8 us after, 2.32x faster." in text


def two_kernels(*more: LaunchDiagnosis) -> Comparison:
    """Two kernels of one report, the second with ``more`` launches."""
    was, now = before(), replace(after(), kernel="padded", demangled="padded()")
    return compare(
        replace(diagnosis(), launches=(replace(was, origin="report"),)),
        replace(diagnosis(), launches=(replace(now, origin="report"), *more)),
        renamed={was.kernel: now.kernel},
    )


def test_two_kernels_of_one_report_are_named_on_each_side() -> None:
    other_grid = replace(after(), kernel="padded", demangled="padded()", grid=(16, 1, 1), origin="report")
    text = words(two_kernels(other_grid))
    assert text.startswith("before: transposeCoalesced in transpose.ncu-rep: NVIDIA H200")
    assert "after: padded in transpose.ncu-rep: NVIDIA H200" in text
    assert "transposeCoalesced 328.3 us, padded 141.8 us: 2.32x faster." in text
    assert "in both" not in text
    assert "Only after: padded with grid 16, block 32x8" in text
    for to in ("markdown", "html"):
        shown = str(output_text(two_kernels(other_grid), None, to))
        assert "before: transposeCoalesced in transpose.ncu-rep: NVIDIA H200" in shown
        assert "Only after: padded with grid 16, block 32x8" in shown
    assert "<title>transposeCoalesced to padded on NVIDIA H200: what changed</title>" in str(
        output_text(two_kernels(), None, "html")
    )


def test_two_reports_are_named_by_their_files_or_else_their_folders() -> None:
    report, launch = diagnosis().reports[0], replace(before(), origin="report")

    def lines(*paths: str) -> list[str]:
        both = [Diagnosis((launch,), (replace(report, path=path),)) for path in paths]
        return [line.partition(": NVIDIA")[0] for line in page(compare(both[0], both[1])).splitlines()[:2]]

    assert lines("a/old.ncu-rep", "a/new.ncu-rep") == ["before: old.ncu-rep", "after: new.ncu-rep"]
    assert lines("a/x.ncu-rep", "b/x.ncu-rep") == ["before: a/x.ncu-rep", "after: b/x.ncu-rep"]


def test_changes_that_came_with_the_advice_taken_are_named_beside_the_prediction() -> None:
    also = replace(advice_finding(), rule=RuleId("WORK002", "serialized-loads"), optimization="unrolling")
    was = replace(before(), outcomes=(*before().outcomes, also))
    now = replace(after(), outcomes=(*after().outcomes, Passed(also.rule, "16 bytes in flight")))
    text = words(compare(Diagnosis((was,), ()), Diagnosis((now,), ())))
    assert "its evidence is gone. The measured speedup includes other changes: serialized-loads gone." in text


def test_what_could_not_be_checked_and_what_was_forced_are_said() -> None:
    other = replace(diagnosis(), launches=(replace(after(), device=Device("NVIDIA H100", "9.0")),), reports=())
    text = words(compare(replace(diagnosis(), launches=(before(),)), other, force=True))
    assert "Compared by force: GPU NVIDIA H200 before, NVIDIA H100 after." in text
    assert "Not checked, since a report does not give it: clock control, cache control, replay mode." in text


def test_only_pairs_that_changed_are_shown_in_full() -> None:
    kernels = [replace(before(), kernel=f"k{n}", demangled=f"k{n}()") for n in range(6)]
    faster = [replace(each, duration_ns=1e5) if each.kernel in {"k2", "k4"} else each for each in kernels]
    shown = page(compare(Diagnosis(tuple(kernels), ()), Diagnosis(tuple(faster), ())))
    assert shown.count("\n  Changed ") == 2
    assert "4 more pairs: -v shows all of them" in shown
    assert all(f"\nk{n} " in shown for n in range(6))


def test_verbose_pages_show_all_pairs_in_full() -> None:
    kernels = tuple(replace(before(), kernel=f"k{n}", demangled=f"k{n}()") for n in range(6))
    answer = compare(Diagnosis(kernels, ()), Diagnosis(kernels, ()))
    shown = comparison_page(answer, width=100, color=False, detail="verbose")
    assert shown.count("\n  Changed ") == 6
    assert "more pairs" not in shown


def test_quiet_pages_have_a_line_per_pair() -> None:
    again = replace(before(), grid=(77, 1, 1))
    was = Diagnosis((before(), again, replace(before(), kernel="old", demangled="old()")), ())
    answer = compare(was, Diagnosis((after(), again), ()))
    lines = comparison_page(answer, width=40, color=False, detail="quiet").splitlines()
    assert len(lines) == 3
    assert lines[0].endswith(" faster, above the prediction")
    assert lines[-1] == "Only before: old"
    assert re.fullmatch(r"\w+ \(77\)  [\d.]+ us -> [\d.]+ us  unchanged", lines[1])


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert not too_wide(page(comparison(), width), width)


@each_hostile_text
def test_no_text_from_outside_acts_on_the_terminal_or_is_lost_in_json(text: str) -> None:
    both = (Diagnosis((before(),), diagnosis().reports), Diagnosis((after(),), diagnosis().reports))
    answer = compare(poisoned(both[0], text), poisoned(both[1], text))
    for color in (False, True):
        shown = comparison_page(answer, width=60, color=color)
        assert not ACTS_ON_A_TERMINAL.search(COLOR.sub("", shown))
    assert not too_wide(page(answer, 60), 60)
    assert as_json(answer).isascii()
    assert document_of(answer)["pairs"][0]["launches"][0]["before"]["kernel"] == text


def test_the_document_is_as_its_schema_says() -> None:
    document = document_of(comparison())
    assert not problems(document)
    assert document["schema"] == schema("comparison")["title"] == "ncuview.comparison/2"
    (pair,) = document["pairs"]
    assert pair["promise"]["verdict"] == "more than promised"
    assert [change["metric"] for change in pair["moved"]] == ["shared_bank_conflict_ways"]
    assert [launch["kernel"] for launch in document["only_after"]] == ["new", "new"]


def test_unknown_times_are_null() -> None:
    unknown = replace(after(), duration_ns=nan)
    document = document_of(compare(Diagnosis((before(),), ()), Diagnosis((unknown,), ())))
    assert not problems(document)
    assert (document["pairs"][0]["speedup"], document["pairs"][0]["promise"]) == (None, None)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema", "ncuview.comparison/1"),
        ("surprise", 1),
        ("pairs.0.surprise", 1),
        ("pairs.0.promise.verdict", "great"),
        ("pairs.0.promise.evidence", "perhaps"),
        ("pairs.0.launches", []),
        ("pairs.0.launches.0.before.bottleneck", 1),
        ("pairs.0.moved.0.saves_ns", "much"),
        ("only_before.0.kernel", ...),
    ],
)
def test_the_schema_refuses_what_is_wrong(path: str, value: Any) -> None:
    document = document_of(comparison())
    *way, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    node = document
    for part in way:
        node = node[part]
    if value is ...:
        del node[last]
    else:
        node[last] = value
    assert problems(document)


def test_the_schema_s_words_are_the_program_s_and_those_of_a_diagnosis() -> None:
    prediction, launch = (
        schema("comparison")["$defs"][name]["properties"] for name in ("Prediction", "ComparedLaunch")
    )
    assert prediction["verdict"]["enum"] == list(get_args(PredictionVerdict))
    assert prediction["evidence"]["enum"] == list(get_args(WasteState))
    assert prediction["optimization"]["enum"] == list(OPTIMIZATIONS)
    of_diagnosis = schema()["$defs"]["Launch"]["properties"]
    assert launch.keys() & of_diagnosis.keys() >= {"report", "kernel", "grid", "device", "bottleneck", "verdict"}


def test_a_rule_that_passes_afterwards_says_how_close_it_is() -> None:
    passed = replace(after(), outcomes=(Passed(advice_finding().rule, "1.00 wavefronts"),))
    (pair,) = document_of(compare(Diagnosis((before(),), ()), Diagnosis((passed,), ())))["pairs"]
    moved = {rule["rule"]: rule for rule in pair["rules"]}["SMEM001"]
    assert (moved["after"], moved["fires_before"], moved["fires_after"]) == ("1.00 wavefronts", True, False)
