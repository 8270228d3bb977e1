"""The search for changes that gain: order, decisions, steps, and what an interrupted one leaves."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from threading import Barrier

import pytest

from ncuview.base.at_once import IN_TURN, Together
from ncuview.catalogue.launcher.ratios import Ratio
from ncuview.patch.patch import Edit, Refused
from ncuview.records.diagnosis import Finding, Fix, Gain, LaunchDiagnosis, RuleId, SourceLine, TextbookMetric
from ncuview.records.diagnosis import Verdict as DiagnosisVerdict
from ncuview.records.trial import Attempt, Bound, Bounds
from ncuview.trial.search import Found, NotBuilt, NotTimed, search
from ncuview.trial.timing import LEAST_GAIN, Outcome, Timing
from ncuview.trial.verify import Verdict, Verification
from tests.render.sample import advice_finding, launch_with_advice

SOURCE = """\
__global__ void k(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * 2.0;
}
"""
LITERAL = SOURCE.replace("2.0;", "2.0f;")
VERIFIED = Verification("verified", passed=("5 inputs",))


def timing(outcome: Outcome, *ratio: float, reason: str = "") -> Timing:
    low, median, high = ratio
    return Timing(outcome, Ratio(median, low, high), 1000.0 * median, 1000.0, 20, reason)


FASTER = timing("faster", 1.28, 1.3, 1.32)
SLOWER = timing("slower", 0.78, 0.8, 0.82, reason="it is slower: 0.780x to 0.820x")
SAME = timing("same", 0.99, 1.0, 1.01, reason="it takes as long as the original: 0.990x to 1.010x")
HARDLY = timing("faster", 1.005, 1.01, 1.03)
IMPOSSIBLE = timing("impossible", 40.0, 41.0, 42.0, reason="it takes less than the hardware allows")
GAIN = Gain(1.28, 1.3, 1.32)


def asks(patch: str, line: int, best: float = 1.5, code: str = "INST001") -> Finding:
    """A finding that asks for a mechanical change of a line."""
    return replace(
        advice_finding(),
        rule=RuleId(code, "a-rule"),
        optimization="lower_precision",
        predicted_speedup=Gain(1.0, best, 2 * best),
        where=(SourceLine("k.cu", line, 1.0, ""),),
        fix=Fix("A change", patch=patch),
    )


@dataclass
class Played:
    """A bench that answers by the text of a version, and fails on one that it does not expect."""

    findings: Mapping[str, tuple[Finding, ...]]
    times: Mapping[str, Timing | str] = field(default_factory=dict)
    """By the text of the version; a word is why it cannot be timed."""
    found: Mapping[str, Verification] = field(default_factory=dict)
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    path: str = "k.cu"
    kernel: str = "k"
    verdict: DiagnosisVerdict = "near-peak"
    bottleneck: str = "dram"
    """So that only the changes of findings are tried."""
    attained: float = 0.85
    said: list[str] = field(default_factory=list)
    least: list[float] = field(default_factory=list)
    """The gain that mattered, of each time."""

    def build(self, source: str) -> str:
        if source in self.broken:
            raise NotBuilt("nvcc says no")
        return source

    def judge(self, version: str) -> LaunchDiagnosis | None:
        return replace(
            launch_with_advice(),
            outcomes=self.findings[version],
            verdict=self.verdict,
            bottleneck=self.bottleneck,
            attained=self.attained,
        )

    def bound(self, version: str, finding: Finding) -> Bound | None:
        return self.bounds.get(finding.rule.code)

    def time(self, before: str, after: str, least: float = LEAST_GAIN) -> Timing:
        self.least.append(least)
        self.said.append("time")
        found = self.times[after]
        if isinstance(found, str):
            raise NotTimed(found)
        return found

    def check(self, before: str, after: str, edit: Edit) -> Verification:
        assert before != after == edit.edited
        self.said.append("check")
        return self.found.get(after, VERIFIED)

    def registers(self, version: str) -> int | None:
        return None

    def end_to_end(self, before: str, after: str) -> None:
        return None


def searched(bench: Played, *, late: bool = False) -> Found[str]:
    found = Found(SOURCE, SOURCE)
    search(bench, found, lambda: late, lambda _: None)
    return found


def test_a_verified_faster_change_is_kept_and_judged_again() -> None:
    bench = Played({SOURCE: (asks("float_literals", 5),), LITERAL: ()}, {LITERAL: FASTER})
    found = searched(bench)
    (attempt,) = found.attempts
    assert (attempt.decision, attempt.measured, attempt.step, attempt.checks) == ("kept", GAIN, 0, ("5 inputs",))
    assert "+        out[i] = in[i] * 2.0f;" in attempt.diff
    assert (found.source, found.kept, found.stopped) == (LITERAL, 1, "")
    assert found.first is not found.diagnosis
    assert bench.said == ["time", "check"]


@pytest.mark.parametrize(
    ("verdict", "attained", "low", "decision"),
    [
        ("near-peak", 0.92, 1.10, "no gain"),
        ("near-peak", 0.92, 1.12, "kept"),
        ("near-peak", 0.89, 1.10, "kept"),
        ("advice", 0.92, 1.10, "kept"),
    ],
)
def test_a_kernel_near_its_peak_must_gain_more(
    verdict: DiagnosisVerdict, attained: float, low: float, decision: str
) -> None:
    measured, asked = timing("faster", low, 1.13, 1.14), (asks("float_literals", 5),)
    bench = Played({SOURCE: asked, LITERAL: ()}, {LITERAL: measured}, verdict=verdict, attained=attained)
    bench.times = defaultdict(lambda: SAME, bench.times)
    attempt = searched(bench).attempts[0]
    assert attempt.decision == decision
    assert bench.least[0] == pytest.approx(
        1.111 if (verdict, attained) == ("near-peak", 0.92) else LEAST_GAIN, abs=1e-3
    )
    if decision == "no gain":
        assert attempt.reason == "near the peak a gain of less than 1.11x is not worth the change"


@pytest.mark.parametrize(
    ("measured", "decision", "reason"),
    [
        (SLOWER, "no gain", SLOWER.reason),
        (SAME, "no gain", SAME.reason),
        (HARDLY, "no gain", "it is hardly faster"),
        (IMPOSSIBLE, "refuted", IMPOSSIBLE.reason),
    ],
)
def test_what_does_not_gain_is_not_kept_and_not_checked(measured: Timing, decision: str, reason: str) -> None:
    bench = Played({SOURCE: (asks("float_literals", 5),)}, {LITERAL: measured})
    found = searched(bench)
    (attempt,) = found.attempts
    assert (attempt.decision, attempt.reason) == (decision, reason)
    assert attempt.measured is not None
    assert bench.said == ["time"]
    assert found.source == SOURCE


@pytest.mark.parametrize("times", [FASTER, "the launch was stopped"])
@pytest.mark.parametrize("verdict", ["refuted", "unproven"])
def test_what_is_not_verified_is_not_kept(verdict: Verdict, times: Timing | str) -> None:
    failed = Verification(verdict, "outputs", "element 3 is 1, not 2")
    bench = Played({SOURCE: (asks("float_literals", 5),)}, {LITERAL: times}, {LITERAL: failed})
    found = searched(bench)
    (attempt,) = found.attempts
    assert (attempt.decision, attempt.reason) == (verdict, "element 3 is 1, not 2")
    assert found.source == SOURCE


def test_what_cannot_be_timed_is_not_kept_although_it_is_verified() -> None:
    bench = Played({SOURCE: (asks("float_literals", 5),)}, {LITERAL: "the launch was stopped"})
    (attempt,) = searched(bench).attempts
    assert (attempt.decision, attempt.reason) == ("unproven", "the launch was stopped")


def test_what_does_not_compile_says_so() -> None:
    bench = Played({SOURCE: (asks("float_literals", 5),)}, broken=frozenset({LITERAL}))
    (attempt,) = searched(bench).attempts
    assert (attempt.decision, attempt.reason) == ("not built", "nvcc says no")


def test_a_change_that_cannot_be_written_names_the_obligation() -> None:
    (attempt,) = searched(Played({SOURCE: (asks("unroll", 5),)})).attempts
    assert (attempt.decision, attempt.diff) == ("not written", "")
    assert attempt.reason


WASTE_COSTS_NOTHING = Bound(
    "Do not convert", Gain(0.99, 1.01, 1.04), "at most", "", "", "", "without it, it is 1.01 times as fast"
)


def test_a_finding_whose_waste_costs_nothing_is_withdrawn() -> None:
    bench = Played({SOURCE: (asks("float_literals", 5),)}, bounds={"INST001": WASTE_COSTS_NOTHING})
    (attempt,) = searched(bench).attempts
    assert (attempt.decision, attempt.bound) == ("withdrawn", WASTE_COSTS_NOTHING)
    assert attempt.reason == WASTE_COSTS_NOTHING.withdrawn
    assert bench.said == []


@pytest.mark.parametrize(
    ("rule", "gain", "bounds", "first"),
    [
        ("INST001", 1.2, "at most", "INST002"),
        ("INST001", 1.2, "nothing", "INST001"),
        ("INST002", 5.6, "at least", "INST002"),
        ("INST001", 1.2, "at least", "INST001"),
    ],
)
def test_the_measured_bound_decides_the_order(rule: str, gain: float, bounds: Bounds, first: str) -> None:
    findings = asks("float_literals", 5, best=3.0, code="INST001"), asks("fast_functions", 5, best=1.4, code="INST002")
    bound = Bound("", Gain(0.9 * gain, gain, 1.1 * gain), bounds, "", "", "", "")
    bench = Played({SOURCE: findings}, {LITERAL: SAME}, bounds={rule: bound})
    assert next(each.rule for each in searched(bench).attempts) == first


def test_after_the_findings_all_other_changes_are_tried_unless_it_is_near_the_peak_of_device_memory() -> None:
    findings = {SOURCE: (asks("float_literals", 5),), LITERAL: ()}

    def others(verdict: DiagnosisVerdict, bottleneck: str) -> list[Attempt]:
        bench = Played(findings, {LITERAL: SAME}, verdict=verdict, bottleneck=bottleneck)
        return [each for each in searched(bench).attempts if not each.rule]

    assert others("near-peak", "dram") == []
    assert others("near-peak", "issue") == others("advice", "dram")
    assert {each.decision for each in others("advice", "dram")} == {"not written"}
    assert len(others("advice", "dram")) >= 3


def test_when_time_is_up_what_was_found_is_left() -> None:
    bench = Played({SOURCE: (asks("float_literals", 5),)})
    found = searched(bench, late=True)
    assert found.stopped == "the time is up"
    assert [each.decision for each in found.attempts] == ["not tried"]


def test_an_interrupted_search_leaves_the_best_version() -> None:
    class Interrupted(Played):
        def judge(self, version: str) -> LaunchDiagnosis | None:
            if version == LITERAL:
                raise KeyboardInterrupt
            return super().judge(version)

    found = Found(SOURCE, SOURCE)
    bench = Interrupted({SOURCE: (asks("float_literals", 5),)}, {LITERAL: FASTER})
    with pytest.raises(KeyboardInterrupt):
        search(bench, found, lambda: False, lambda _: None)
    assert (found.source, found.kept, len(found.attempts)) == (LITERAL, 1, 1)


def test_without_counters_all_changes_that_apply_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    import ncuview.patch as patches
    from ncuview.patch.float_literals import float_literals

    def refuses(*_: object) -> None:
        raise Refused("a barrier stands in a branch")

    class Blind(Played):
        def judge(self, version: str) -> LaunchDiagnosis | None:
            return None

    monkeypatch.setattr(patches, "STRUCTURAL", {"fewer_barriers": (refuses,), "lower_precision": (float_literals,)})
    found = searched(Blind({}, {LITERAL: FASTER}))
    assert [(each.decision, each.reason) for each in found.attempts[:2]] == [
        ("not written", "a barrier stands in a branch"),
        ("kept", ""),
    ]
    # Nothing is said twice, and after the changes the parameters have their turn.
    assert [each.optimization for each in found.attempts[2:]] == ["lower_precision", "launch_configuration"]


LAUNCHED = SOURCE + "void f(float *o, float *i, int n) { k<<<(n + 255) / 256, 256>>>(o, i, n); }\n"
OF_512 = LAUNCHED.replace("255) / 256, 256>>>", "511) / 512, 512>>>")


@dataclass
class Tuned(Played):
    """A bench whose changes of parameters take as long as the original, but for those in ``times``."""

    occupancy: Mapping[str, float] = field(default_factory=dict)
    registers_of: Mapping[str, int] = field(default_factory=dict)
    verdict: DiagnosisVerdict = "unclear"
    bottleneck: str = "latency"

    def judge(self, version: str) -> LaunchDiagnosis | None:
        made = replace(
            launch_with_advice(), outcomes=(), verdict=self.verdict, bottleneck=self.bottleneck, attained=0.4
        )
        held = TextbookMetric(self.occupancy[version], "ratio 0-1", "sm__maximum_warps_per_active_cycle_pct / 100")
        units = {"issue": 0.2, "dram": 0.2, "latency": 0.9}
        return replace(made, units=units, metrics={"theoretical_occupancy": held})

    def time(self, before: str, after: str, least: float = LEAST_GAIN) -> Timing:
        if after in self.times:
            return super().time(before, after, least)
        self.said.append("time")
        return SAME

    def build(self, source: str) -> str:
        self.said.append("build")
        return super().build(source)

    def registers(self, version: str) -> int | None:
        return self.registers_of.get(version)


def tuned(bench: Played, together: Together = IN_TURN) -> Found[str]:
    found = Found(LAUNCHED, LAUNCHED)
    search(bench, found, lambda: False, lambda _: None, together)
    return found


def test_better_values_of_parameters_are_kept_and_explained_by_a_counter() -> None:
    found = tuned(Tuned({}, {OF_512: FASTER}, occupancy={LAUNCHED: 0.48, OF_512: 0.71}))
    (kept,) = [each for each in found.attempts if each.decision == "kept"]
    assert (kept.title, kept.measured) == ("Launch blocks of 512 threads instead of 256", GAIN)
    assert kept.explained == "occupancy that fits 48% -> 71%"
    assert found.source == OF_512


def test_the_values_that_come_next_are_compiled_at_once_and_none_twice() -> None:
    bench = Tuned({}, occupancy={LAUNCHED: 0.48})
    alone = tuned(bench)
    in_turn, bench.said = list(bench.said), []
    together = tuned(bench, Together(2, lambda: None))
    assert together.attempts == alone.attempts
    assert in_turn[:4] == ["build", "time", "build", "time"]
    assert bench.said[:4] == ["build", "build", "time", "time"]
    assert sorted(bench.said) == sorted(in_turn)


def test_a_gain_that_no_counter_explains_says_so() -> None:
    found = tuned(Tuned({}, {OF_512: FASTER}, occupancy={LAUNCHED: 0.48, OF_512: 0.48}))
    (kept,) = [each for each in found.attempts if each.decision == "kept"]
    assert kept.explained == "no counter explains it"


def test_a_block_whose_registers_do_not_fit_is_not_launched() -> None:
    bench = Tuned({}, {OF_512: FASTER}, occupancy={LAUNCHED: 0.48}, registers_of={OF_512: 200})
    found = tuned(bench)
    (large,) = [each for each in found.attempts if each.title.startswith("Launch blocks of 512")]
    assert (large.decision, large.measured) == ("not built", None)
    assert large.reason == "blocks of 512 threads with 200 registers each do not fit a multiprocessor"
    assert found.source == LAUNCHED


def test_a_version_near_the_peak_of_device_memory_keeps_its_values() -> None:
    near = Tuned({}, {}, occupancy={LAUNCHED: 0.48}, verdict="near-peak", bottleneck="dram")
    assert tuned(near).attempts == []


@dataclass
class Meeting(Played):
    """A bench whose ``build`` waits until as many run at once as there are ``jobs``."""

    jobs: int = 2
    waiting: Barrier = field(init=False)
    built: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.waiting = Barrier(self.jobs, timeout=20)

    def build(self, source: str) -> str:
        self.waiting.wait()
        self.said.append("build")
        self.built.append(source)
        return super().build(source)


PRECISE = SOURCE.replace("in[i] * 2.0", "sinf(in[i]) * 2.0")
FAST = PRECISE.replace("sinf", "__sinf")
SINGLE = PRECISE.replace("2.0;", "2.0f;")
BOTH = {PRECISE: (asks("float_literals", 5, code="INST001"), asks("fast_functions", 5, best=1.4, code="INST002"))}


def searched_together(bench: Meeting, *, late: bool = False) -> Found[str]:
    found = Found(PRECISE, PRECISE)
    search(bench, found, lambda: late, lambda _: None, Together(bench.jobs, lambda: None))
    return found


def test_all_changes_of_a_step_are_compiled_at_once_and_before_the_first_is_timed() -> None:
    bench = Meeting(BOTH, {SINGLE: SAME, FAST: SAME})
    found = searched_together(bench)
    assert [each.decision for each in found.attempts] == ["no gain", "no gain"]
    assert bench.said == ["build", "build", "time", "time"]
    assert sorted(bench.built) == sorted([SINGLE, FAST])


def test_no_more_are_compiled_ahead_than_at_once() -> None:
    bench = Meeting(BOTH, {SINGLE: SAME, FAST: SAME}, jobs=1)
    searched_together(bench)
    assert bench.said == ["build", "time", "build", "time"]


def test_one_that_does_not_compile_leaves_the_others() -> None:
    bench = Meeting(BOTH, {FAST: SAME}, broken=frozenset({SINGLE}))
    assert [(each.decision, each.reason) for each in searched_together(bench).attempts] == [
        ("not built", "nvcc says no"),
        ("no gain", SAME.reason),
    ]


def test_what_is_withdrawn_is_not_compiled() -> None:
    bench = Meeting(BOTH, {FAST: SAME}, bounds={"INST001": WASTE_COSTS_NOTHING}, jobs=2)
    bench.waiting = Barrier(1)
    assert [each.decision for each in searched_together(bench).attempts] == ["no gain", "withdrawn"]
    assert bench.built == [FAST]


def test_nothing_is_compiled_when_time_is_up() -> None:
    bench = Meeting(BOTH)
    assert searched_together(bench, late=True).stopped == "the time is up"
    assert bench.built == []
