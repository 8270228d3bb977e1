"""The recorded profiles: each kernel's diagnosis is what its kernel file expects, and predictions are close to gains.

The numbers are those of a real H200, which differ a little from one recording to the next; the tests hold for all.
"""

from __future__ import annotations

import re

import pytest

from ncuview.api import load_rules
from ncuview.base.figures import factor
from ncuview.catalogue.kernel_file import Kernel, Step
from ncuview.catalogue.kernels import all_kernels, find_kernel
from ncuview.engine.rule_file import Rule
from ncuview.records.diagnosis import Broken, Diagnosis, Finding, LaunchDiagnosis, Outcome, Skipped
from ncuview.records.ladder import LadderStep
from ncuview.render import render
from ncuview.render.ladder import step_cells
from ncuview.render.words import textbook_notes
from ncuview.speedup.model import BOTTLENECK_SHARE
from tests.profiles import recorded_ladder
from tests.together import together

KERNELS = all_kernels()
FAMILIES = sorted({kernel.text.family for kernel in KERNELS})
LADDERS = [family for family in FAMILIES if any(k.text.better for k in KERNELS if k.text.family == family)]
NAMES = [kernel.name for kernel in KERNELS]
STEPS = [kernel.name for kernel in KERNELS if kernel.text.better and kernel.text.expect.first]

MISSED = frozenset(
    {
        "applyGenerated_divergent",
        "applyGenerated_divergent[ways=2]",
        "applyGenerated_divergent[ways=8]",
        "applyGenerated_tiled",
        "branchAtLane16",
        "divideByAnything[d=10]",
        "histogram_match[values=4]",
        "mmul_tensor",
        "near_lines",
        "reduce_v1",
        "sobel_global[bx=16]",
        "sobel_global[bx=8]",
        "transformKernel",
        "transposeGranularity[tile=8,rows=8]",
    }
)
"""Kernels with right advice whose prediction differs by more than CLOSE; see validation/predicted-and-measured.md."""

CLOSE = (0.80, 1.25)
"""The bounds of the predicted over the measured speedup."""


def step_of(kernel: str) -> LadderStep:
    steps = recorded_ladder(find_kernel(kernel).text.family).steps
    return next(step for step in steps if step.kernel == kernel)


def launch(kernel: str) -> LaunchDiagnosis:
    return step_of(kernel).diagnosis


def outcome(rule: str, kernel: str) -> Outcome:
    return next(each for each in launch(kernel).outcomes if each.rule.code == rule)


def predicted_over_measured(step: LadderStep) -> float:
    assert step.measured_speedup is not None
    return step.diagnosis.findings[0].predicted_speedup.best / step.measured_speedup


@together("kernel", NAMES)
def test_the_first_advice_or_the_verdict_is_the_expected_one(kernel: str) -> None:
    expect, found = find_kernel(kernel).text.expect, launch(kernel)
    if expect.first:
        assert [finding.optimization for finding in found.findings][:1] == [expect.first]
    else:
        assert (found.verdict, [finding.optimization for finding in found.findings]) == (expect.verdict, [])


OVERTAKEN = {rule.text.code for rule in load_rules() if rule.text.overtaken}
"""Rules about what today's GPUs no longer have: no kernel of the catalogue may need them."""
RULES = [rule for rule in load_rules() if not rule.text.overtaken]


@together("rule", RULES, name=lambda rule: rule.text.code)
def test_a_rule_fires_on_the_kernel_that_needs_it_and_is_quiet_on_the_one_that_has_it(rule: Rule) -> None:
    for fix in rule.text.fix:
        before, after = (outcome(rule.text.code, kernel) for kernel in fix.launches)
        assert isinstance(before, Finding)
        assert not isinstance(after, Finding) or after.rejected


@together("code", sorted(OVERTAKEN))
def test_what_is_overtaken_is_found_nowhere(code: str) -> None:
    quiet = [outcome(code, kernel) for kernel in NAMES]
    assert not any(isinstance(each, Finding) for each in quiet)


TEXTBOOK_STEPS = [(step, kernel) for kernel in KERNELS if (step := kernel.text.step)]


@together("step, kernel", TEXTBOOK_STEPS, name=lambda pair: pair[1].name)
def test_a_textbook_step_is_the_first_advice_or_says_why_not(step: Step, kernel: Kernel) -> None:
    findings = launch(step.after).findings
    if findings and findings[0].optimization == step.applies:
        assert step.not_first is None
        return
    assert step.not_first, "neither first advice nor explained"


RATIO = re.compile(r"\d(?:\.\d+)? ?(?:x\b|times)|\d\.\d")
"""A gain written by hand. Ratios in sizes (8 x 8) have digits on both sides."""


@together("step, kernel", TEXTBOOK_STEPS, name=lambda pair: pair[1].name)
def test_no_note_holds_a_gain_that_was_written_by_hand(step: Step, kernel: Kernel) -> None:
    assert not RATIO.search(re.sub(r"\d+ x \d+", "", step.not_first or ""))


@together("family", FAMILIES)
def test_the_notes_of_a_ladder_have_the_figures_of_its_table(family: str) -> None:
    numbers = {each.kernel: each.number for each in recorded_ladder(family).steps}
    notes = textbook_notes(recorded_ladder(family))
    for each in recorded_ladder(family).steps:
        for step in filter(lambda step: step.not_first, each.textbook_steps):
            (note,) = (note for note in notes if note.startswith(f"#{each.number} to #{numbers[step.kernel]} by "))
            assert re.findall(r"\d+\.\d+x|\d[\d,]+x", note) == [factor(step.measured_speedup)]
            if each.better == step.kernel:
                assert step_cells(each, numbers)["measured"] == factor(step.measured_speedup)
    assert len(notes) == sum(
        bool(step.not_first) for each in recorded_ladder(family).steps for step in each.textbook_steps
    )


@together("kernel", sorted({step.after for step, _ in TEXTBOOK_STEPS if step.not_first}))
def test_a_note_of_one_kernel_says_where_its_figure_is(kernel: str) -> None:
    seen = f"Measured: see `ncuview ladder {find_kernel(kernel).text.family}`."
    assert launch(kernel).textbook
    assert all(note.endswith(seen) for note in launch(kernel).textbook)


PREDICTED = [(kernel, name) for kernel in KERNELS for name in kernel.text.predicts]


@together("kernel, name", PREDICTED, name=lambda pair: f"{pair[0].name} {pair[1]}")
def test_the_hardware_does_what_the_documents_table_predicts(kernel: Kernel, name: str) -> None:
    assert launch(kernel.name).metrics[name].value == pytest.approx(kernel.text.predicts[name], rel=0.01)


@together("kernel", NAMES)
def test_what_must_stay_quiet_is_not_advised(kernel: str) -> None:
    advised = {finding.optimization for finding in launch(kernel).findings}
    assert not advised & set(find_kernel(kernel).text.expect.quiet)


@together("kernel", NAMES)
def test_every_rule_could_be_judged(kernel: str) -> None:
    unjudged = [outcome for outcome in launch(kernel).outcomes if isinstance(outcome, Skipped | Broken)]
    assert [outcome for outcome in unjudged if not _without_samples(outcome)] == []


def _without_samples(outcome: object) -> bool:
    """A launch shorter than the sampling interval cannot be judged by the waits of its warps."""
    return isinstance(outcome, Skipped) and outcome.missing == ()


@together("kernel", NAMES)
def test_advice_is_in_the_order_of_its_predictions_and_bounded(kernel: str) -> None:
    gains = [finding.predicted_speedup for finding in launch(kernel).findings]
    assert [gain.best for gain in gains] == sorted((gain.best for gain in gains), reverse=True)
    assert all(gain.low <= gain.best <= gain.high and gain.best >= 1.1 for gain in gains)


@together("kernel", NAMES)
def test_a_page_of_100_columns_has_30_lines_or_10_for_a_finished_kernel(kernel: str) -> None:
    diagnosis = Diagnosis(
        (launch(kernel),), (), "no NVIDIA GPU here: nvidia-smi is missing or lists none; --live insists"
    )
    limits = {"advice": 30, "near-peak": 10, "unclear": 12}
    assert len(render(diagnosis).splitlines()) <= limits[launch(kernel).verdict]


@together("kernel", NAMES)
def test_every_advice_has_a_place(kernel: str) -> None:
    for finding in launch(kernel).findings:
        assert bool(finding.where or finding.instructions) == (finding.about == "lines"), finding.rule.code


@together("kernel", NAMES)
def test_a_rejected_finding_has_a_reason(kernel: str) -> None:
    findings = [outcome for outcome in launch(kernel).outcomes if isinstance(outcome, Finding)]
    assert all(finding.rejected for finding in findings if finding not in launch(kernel).findings)


@together("kernel", NAMES)
def test_no_unit_is_used_beyond_its_peak(kernel: str) -> None:
    assert all(0 <= share <= 1.0 for share in launch(kernel).units.values())


@together("family", FAMILIES)
def test_a_ladder_has_a_step_for_each_kernel_in_order(family: str) -> None:
    wanted = [kernel.name for kernel in KERNELS if kernel.text.family == family]
    assert [step.kernel for step in recorded_ladder(family).steps] == wanted


def test_all_predictions_but_the_known_ones_are_close_to_what_was_measured() -> None:
    low, high = CLOSE
    off = {kernel for kernel in STEPS if not low <= predicted_over_measured(step_of(kernel)) <= high}
    assert off == MISSED, "one that is close now leaves the list"


def test_half_of_the_predictions_for_transposes_are_off_by_less_than_a_tenth() -> None:
    """The worst is transpose_parallel_per_row: predicted over measured is 1.15 and 1.19 in two recordings."""
    known = [kernel for kernel in STEPS if kernel not in MISSED]
    steps = [step_of(kernel) for kernel in known if find_kernel(kernel).text.family == "transpose"]
    off = sorted((max(predicted_over_measured(step), 1 / predicted_over_measured(step)), step.kernel) for step in steps)
    assert off[len(off) // 2][0] < 1.10
    assert off[-1][0] < CLOSE[1], off[-1]


def test_the_prediction_for_padding_the_documents_tile_holds() -> None:
    assert predicted_over_measured(step_of("transposeCoalesced")) == pytest.approx(1.0, abs=0.15)


def test_the_bank_conflict_is_found_on_the_line_that_reads_the_column() -> None:
    first = launch("transposeCoalesced").findings[0].where[0]
    assert "tile[threadIdx.x]" in first.code
    assert first.file == "transpose/transposeCoalesced.cu"
    assert first.share > 0.9


def test_the_scattered_store_is_found_on_its_line() -> None:
    first = launch("transposeNaive").findings[0].where[0]
    assert first.code.startswith("odata[x * n + (y + j)] =")


@pytest.mark.parametrize("kernel", ["copySharedMem", "transposeNoBankConflicts", "matrixTransposeUnrolled"])
def test_finished_kernels_get_the_verdict_near_peak_at_the_bottleneck_device_memory(kernel: str) -> None:
    found = launch(kernel)
    assert (found.bottleneck, found.verdict, found.findings) == ("dram", "near-peak", ())


@pytest.mark.parametrize(
    ("kernel", "bottleneck"),
    [("dramRead", "dram"), ("l2Read", "l2"), ("sharedRequests", "lsu"), ("aluPipe", "alu"), ("xuPipe", "xu")],
)
def test_a_calibration_kernel_is_limited_by_the_unit_it_was_written_for(kernel: str, bottleneck: str) -> None:
    assert launch(kernel).bottleneck == bottleneck
    assert launch(kernel).units[bottleneck] > BOTTLENECK_SHARE * 0.8


def test_diagonal_mapping_is_nowhere_advised_on_a_gpu_that_hashes_addresses() -> None:
    advised = {
        finding.optimization for step in recorded_ladder("transpose").steps for finding in step.diagnosis.findings
    }
    assert "diagonal_mapping" not in advised
