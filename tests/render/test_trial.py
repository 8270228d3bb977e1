"""The page and the document of a trial."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ncuview.base.figures import factor
from ncuview.records.diagnosis import Gain
from ncuview.records.profile import Device, Failure
from ncuview.records.trial import Attempt, Bound, Trial
from ncuview.render.html_report.trial import trial_html
from ncuview.render.trial import result_sentence, trial_document, trial_page
from tests.hostile import PAYLOADS
from tests.render.sample import launch_with_advice
from tests.render.schema import problems, schema, undescribed

PATCH = """\
--- a/k.cu
+++ b/k.cu
@@ -1,1 +1,1 @@
-    __shared__ float tile[32][32];
+    __shared__ float tile[32][33];
"""


def attempt(title: str, decision: str = "kept", **changes: object) -> Attempt:
    made = Attempt(
        title=title,
        optimization="shared_memory_padding",
        rule="SMEM001",
        step=0,
        decision="kept",
        reason="",
        predicted=Gain(1.94, 2.18, 2.29),
        bound=Bound("Read the tile without conflicts", Gain(2.2, 2.28, 2.3), "at most", "", "", "", ""),
        measured=Gain(2.27, 2.31, 2.34),
        assumes="",
        checks=("5 inputs", "2 further sizes", "compute-sanitizer"),
        diff=PATCH,
    )
    return replace(made, decision=decision, **changes)  # type: ignore[arg-type]


def trial(*attempts: Attempt, **changes: object) -> Trial:
    made = Trial(
        target="transposeCoalesced",
        kernel="transposeCoalesced",
        device=Device("NVIDIA H200", "9.0"),
        grid=(256, 256, 1),
        block=(32, 8, 1),
        sizes={"n": 8192},
        attempts=attempts,
        before_ns=328_320.0,
        gain=Gain(2.27, 2.31, 2.34) if any(each.decision == "kept" for each in attempts) else None,
        end_to_end=None,
        patch=PATCH,
        before=launch_with_advice(),
        after=replace(launch_with_advice(), bottleneck="dram"),
        stopped="",
        seconds={"compile": 4.5, "times": 3.25, "all": 9.0},
    )
    return replace(made, **changes)  # type: ignore[arg-type]


REFUTED = attempt(
    "Unroll the loop", "refuted", reason="element 7 is 3, not 4, with the input zeros", measured=None, bound=None
)
WITHDRAWN = attempt("Fewer barriers", "withdrawn", reason="without the waste it is only 1.02 times as fast")


def test_an_ablation_that_lost_work_is_no_bound_with_the_reason() -> None:
    lost = Bound(
        "Read the tile without conflicts", Gain(8.0, 9.0, 9.5), "nothing", "half of the loads are left", "", "", ""
    )
    unbound = attempt("Pad tile by one column", bound=lost)
    page = trial_page(trial(unbound, replace(unbound, title="Another")), width=100, color=False)
    assert page.count("Read the tile without conflicts: half of the loads are left") == 1
    assert "9.00x" not in page
    assert "The ablation is no bound: half of the loads are left" in trial_html(trial(unbound))


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_page_says_the_result_first_and_why_not_for_the_rest(width: int) -> None:
    page = trial_page(trial(attempt("Pad tile by one column"), REFUTED, WITHDRAWN), width=width, color=False)
    words = " ".join(page.split())
    assert max(map(len, page.splitlines())) <= width
    assert words.index("2.31x faster (2.27x to 2.34x): 328.3 us to 142.1 us, 1 change kept") < words.index("predicted")
    for said in ("2.18x", "2.28x", "Checked 5 inputs, 2 further sizes, compute-sanitizer", "n = 8,192", "NVIDIA H200"):
        assert said in words
    assert "Unroll the loop: refuted, element 7 is 3, not 4, with the input zeros" in words
    assert "+    __shared__ float tile[32][33];" in page


def test_the_page_explains_values_of_parameters() -> None:
    gain = Gain(1.07, 1.08, 1.09)
    title = "Launch blocks of 512 threads instead of 256"
    tuned = trial(attempt(title, measured=gain, explained="occupancy 48% -> 71%"))
    sentence = f"{title}: 1.08x, occupancy 48% -> 71%"
    assert sentence in " ".join(trial_page(tuned, width=100, color=False).split())
    assert sentence.replace(">", "&gt;") in trial_html(tuned)
    assert json.loads(trial_document(tuned))["attempts"][0]["explained"] == "occupancy 48% -> 71%"


@pytest.mark.parametrize(
    ("more_work", "only_the_waste"), [("it executes twice as much", "it is shared too"), ("", "it is shared too")]
)
def test_a_bound_from_below_is_shown_as_one_with_the_reason(more_work: str, only_the_waste: str) -> None:
    bound = Bound("Spread contention", Gain(4.0, 4.1, 4.2), "at least", "", more_work, only_the_waste, "")
    found = trial(attempt("Private copies", bound=bound), attempt("Pad tile by one column"))
    page = " ".join(trial_page(found, width=100, color=False).split())
    why = more_work or only_the_waste
    assert "at least 4.10x" in page
    assert "at most 2.28x" in page
    assert f"At least Spread contention: {why}" in page
    assert "No bound" not in page
    html = trial_html(found)
    assert "at least 4.10x (4.00x to 4.20x)" in html
    assert "at most 2.28x (2.20x to 2.30x)" in html
    assert f"The ablation is a bound from below only: {why}" in html
    made = json.loads(trial_document(found))["attempts"][0]["bound"]
    assert (made["bounds"], made["more_work"], made["only_the_waste"]) == ("at least", more_work, only_the_waste)


def test_a_bound_that_bounds_nothing_is_not_shown_as_one() -> None:
    for bound in (
        Bound("Spread contention", Gain(4.0, 4.1, 4.2), "nothing", "a load is gone", "", "", ""),
        Bound("Spread contention", Gain(0.8, 0.9, 1.0), "nothing", "", "a load is gone", "", ""),
    ):
        found = trial(attempt("Private copies", bound=bound))
        page = trial_page(found, width=100, color=False)
        assert factor(bound.gain.best) not in page
        assert "No bound Spread contention: a load is gone" in " ".join(page.split())
        assert "The ablation is no bound: a load is gone" in trial_html(found)


def test_why_one_way_is_not_written_is_left_out_once_another_of_the_same_finding_is_kept() -> None:
    unwritten = attempt("shared memory tiling", "not written", reason="no loop has such loads", measured=None)
    others = (
        replace(unwritten, rule="SMEM002", reason="another finding"),
        replace(unwritten, step=1, reason="a later version"),
        replace(unwritten, optimization="coalescing", reason="another optimization"),
    )
    found = trial(unwritten, *others, attempt("Pad tile by one column"))
    for page in (" ".join(trial_page(found, width=200, color=False).split()), trial_html(found)):
        assert "no loop has such loads" not in page
        assert all(each.reason in page for each in others)
    assert json.loads(trial_document(found))["attempts"][0]["reason"] == "no loop has such loads"
    refused = trial_page(trial(unwritten, replace(REFUTED, rule="SMEM001")), width=200, color=False)
    assert "no loop has such loads" in refused


def test_finished_interrupted_and_failed_trials_differ() -> None:
    nothing = trial(replace(REFUTED), patch="", after=None)
    assert result_sentence(nothing) == "finished: nothing that was tried gains; 0 changes timed"
    assert nothing.finished
    late = replace(nothing, stopped="the time is up")
    assert result_sentence(late) == "nothing is kept so far; 0 changes timed"
    failed = replace(nothing, failure=Failure("GpuLost", "the GPU was lost", "Restart it.", 5))
    assert not failed.finished
    assert "the GPU was lost" in trial_page(failed, width=100, color=False)


def test_the_browser_s_page_has_each_change_and_the_patch() -> None:
    html = trial_html(trial(attempt("Pad tile by one column"), REFUTED))
    for said in ("Pad tile by one column", "element 7 is 3, not 4", "2.31x (2.27x to 2.34x)", "2.28x", "tile[32][33]"):
        assert said in html


def test_the_document_is_of_its_schema() -> None:
    for each in (trial(attempt("Pad tile"), REFUTED), trial(REFUTED, patch="", after=None, before=None)):
        document = json.loads(trial_document(each))
        assert problems(document, "trial") == []
        assert document["finished"] == each.finished
        assert document["seconds"] == {"compile": 4.5, "times": 3.25, "all": 9.0}
        assert [made["decision"] for made in document["attempts"]] == [made.decision for made in each.attempts]


def test_the_schema_describes_every_key() -> None:
    assert undescribed(schema("trial")) == []


@pytest.mark.parametrize("payload", PAYLOADS.values(), ids=PAYLOADS)
def test_foreign_text_is_inert(payload: str) -> None:
    hostile = trial(
        attempt(payload, diff=payload, reason=payload), kernel=payload, patch=payload, target=payload or "k"
    )
    page = trial_page(hostile, width=100, color=False)
    assert "\x1b" not in page
    json.loads(trial_document(hostile))
    html = trial_html(hostile).partition("<body>")[2].partition('<script type="application/json"')[0]
    for markup in ("<script", "<img", "<iframe", "<svg/", "<!--"):
        assert markup not in html.replace("&quot;", "")
