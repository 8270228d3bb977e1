"""Launches that most rules could not judge, and kernels of other owners: every format names them first."""

from __future__ import annotations

import json
from dataclasses import replace
from math import nan

import pytest

from ncuview.base.paths import shipped
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import shipped_rules
from ncuview.pipeline.profiled import read_with_sources
from ncuview.records.diagnosis import Diagnosis, OwnerKind, Passed, RuleId, Skipped
from ncuview.render import render
from ncuview.render.notebook import answer_html
from ncuview.render.outputs import output_text
from ncuview.render.words import (
    coverage_sentence,
    gain_bounds,
    skipped_words,
    verdict_headline,
    verdict_reason,
)
from tests.render.sample import launch_near_peak, launch_unclear, launch_with_advice

BLIND = replace(
    launch_unclear(),
    verdict="not-judged",
    outcomes=(
        Skipped(RuleId("SMEM001", "shared-bank-conflict"), "it cannot be judged: the report holds no machine code", ()),
        Skipped(RuleId("GMEM001", "uncoalesced-global-load"), "it cannot be judged: the report holds no code", ()),
        Skipped(RuleId("GMEM002", "uncoalesced-global-store"), "it cannot be judged: the report holds no code", ()),
        Passed(RuleId("OCC001", "block-limited-occupancy"), "100 %"),
    ),
)
VENDORS = replace(launch_near_peak(), verdict="not-yours", owner="cuBLAS", owner_kind="vendor")
WHY = "the report holds no code"
NOT_JUDGED = Diagnosis((BLIND,), ())
SAID = f"Most rules could not judge the launch: {WHY}."


@pytest.mark.parametrize("form", ["markdown", "summary", "github", "gitlab", "sarif", "json", "html"])
def test_each_format_says_that_a_launch_was_not_judged_and_why(form: str) -> None:
    assert WHY in str(output_text(NOT_JUDGED, None, form))


def test_the_terminal_says_it_before_the_first_launch() -> None:
    page = render(NOT_JUDGED)
    assert 0 <= page.index(SAID) < page.index(BLIND.kernel)
    assert "Not judged: most rules could not judge this launch." in page


@pytest.mark.parametrize("form", ["markdown", "summary"])
def test_no_page_says_that_nothing_can_be_made_faster_of_what_was_not_judged(form: str) -> None:
    page = str(output_text(NOT_JUDGED, None, form))
    assert "1 of 1 kernels not judged" in page
    assert "can be made faster" not in page
    assert "no advice saves any of it" not in page


def test_a_page_of_both_counts_both() -> None:
    both = Diagnosis((launch_with_advice(), BLIND), ())
    assert "1 of 2 kernels can be made faster, 1 not judged" in str(output_text(both, None, "markdown"))
    assert coverage_sentence(both.launches) == f"Most rules could not judge 1 of 2 launches: {WHY}."


def test_junit_skips_the_diagnosis() -> None:
    page = str(output_text(NOT_JUDGED, None, "junit"))
    assert 'skipped="1"' in page
    assert f"3 of 4 rules could not judge: {WHY}" in page


def test_openmetrics_and_csv_hold_the_verdict() -> None:
    assert "ncuview_not_judged_launches 1.0" in str(output_text(NOT_JUDGED, None, "openmetrics"))
    assert "not-judged" in str(output_text(NOT_JUDGED, None, "csv"))


def test_json_counts_at_the_top() -> None:
    document = json.loads(str(output_text(Diagnosis((BLIND, VENDORS), ()), None, "json")))
    counts = {name: document["judged"][name] for name in ("launches", "not_judged", "not_yours")}
    assert counts == {"launches": 2, "not_judged": 1, "not_yours": 1}
    assert [launch["verdict"] for launch in document["launches"]] == ["not-judged", "not-yours"]
    assert [launch["owner"] for launch in document["launches"]] == ["", "cuBLAS"]


def test_html_does_not_call_what_was_not_judged_finished() -> None:
    alone = str(output_text(NOT_JUDGED, None, "html"))
    assert "not judged</h1>" in alone
    assert f"3 of 4 rules could not judge: {WHY}" in alone
    both = Diagnosis((BLIND, VENDORS), ())
    page = str(output_text(both, None, "html"))
    assert "0 of 2 launches were judged. Most rules could not judge 1 of 2 launches" in page
    assert "No kernel of yours was judged." in page
    assert "kernels that were not judged" in page


def test_a_vendors_kernel_is_named_as_such() -> None:
    assert verdict_headline(VENDORS) == (
        "Not yours: this kernel is part of cuBLAS, whose code only its vendor can change."
    )
    assert "You can change the call" in verdict_reason(VENDORS)
    assert coverage_sentence([VENDORS, BLIND]).endswith(
        "The code of 1 of 2 launches is not yours to change: cuBLAS 1 (98% of the time)."
    )


@pytest.mark.parametrize(
    ("kind", "headline", "remedy"),
    [
        ("framework", "Not yours: PyTorch's kernel: change the call, not the kernel.", "work of several calls"),
        (
            "generated",
            "Not yours: written by PyTorch from your code: change that code, not the kernel.",
            "what it is written from",
        ),
    ],
)
def test_a_kernel_of_another_owner_names_what_can_be_changed(kind: OwnerKind, headline: str, remedy: str) -> None:
    launch = replace(VENDORS, owner="PyTorch", owner_kind=kind)
    assert verdict_headline(launch) == headline
    reason = verdict_reason(launch)
    assert remedy in reason
    assert f", which is {launch.attained:.0%} of what a good kernel attains." in reason


def test_where_what_it_attains_is_unknown_no_share_of_it_is_named() -> None:
    assert "nan" not in verdict_reason(replace(VENDORS, attained=nan))


def test_the_owner_is_named_on_every_page() -> None:
    both = Diagnosis((launch_with_advice(), replace(VENDORS, owner="PyTorch", owner_kind="framework")), ())
    named = "not-yours: PyTorch"
    assert named in render(both)
    assert named in answer_html(both)
    assert named in str(output_text(both, None, "markdown"))
    page = str(output_text(both, None, "html"))
    assert "Not yours: PyTorch" in page.partition('id="kernels"')[2]
    assert "PyTorch 1 (" in page.partition('id="kernels"')[0]
    assert "PyTorch's kernel: change the call" in page
    assert "kernels that are not yours to change" in page


def test_shares_of_the_time_are_those_of_all_launches() -> None:
    slow, fast = replace(VENDORS, duration_ns=3000.0), replace(VENDORS, duration_ns=1000.0, owner="PyTorch")
    said = coverage_sentence([slow, fast, replace(launch_with_advice(), duration_ns=6000.0)])
    assert said.endswith("cuBLAS 1 (30% of the time), PyTorch 1 (10% of the time).")
    assert coverage_sentence([slow, replace(fast, duration_ns=nan)]).endswith("to change: cuBLAS 1, PyTorch 1.")


def test_a_vendors_kernel_is_not_counted_as_not_judged_as_well() -> None:
    assert "could not look" not in coverage_sentence(
        [replace(BLIND, owner="cuDNN", owner_kind="vendor", verdict="not-yours")]
    )


def test_where_all_was_judged_nothing_is_said() -> None:
    assert coverage_sentence([launch_with_advice(), launch_near_peak(), launch_unclear()]) == ""


def test_a_report_without_machine_code_is_judged_by_counters_and_says_what_only_code_shows() -> None:
    report = shipped("kernels") / "transpose" / "h200.ncu-repz"
    profile = read_with_sources([report], "transposeCoalesced")
    blind = replace(profile, instructions=profile.instructions.iloc[:0])
    found = diagnose(blind, shipped_rules())
    (launch,) = found.launches
    assert launch.verdict == "advice"
    assert coverage_sentence([launch]) == ""
    assert "profile again with --import-sass yes" in found.remark
    assert "give the .ncu-rep" not in found.remark
    assert skipped_words(launch).endswith("rules: it cannot be judged: only machine code shows what they look for")
    assert gain_bounds(launch, launch.findings[0]).startswith("likely, ")
