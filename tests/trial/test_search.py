"""The search for changes that gain: order, decisions, steps, and what an interrupted one leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import pytest

from ncuview.patch.patch import Edit, Refused
from ncuview.records.diagnosis import Finding, Fix, Gain, LaunchDiagnosis, RuleId, SourceLine
from ncuview.records.trial import Bound
from ncuview.trial.search import Found, NotBuilt, Verification, search
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
FASTER, SLOWER, SAME = Gain(1.28, 1.3, 1.32), Gain(0.78, 0.8, 0.82), Gain(0.99, 1.0, 1.01)
VERIFIED = Verification("verified", checks=("5 inputs",))


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
    gains: Mapping[str, Gain] = field(default_factory=dict)
    found: Mapping[tuple[str, bool], Verification] = field(default_factory=dict)
    bounds: Mapping[str, Bound] = field(default_factory=dict)
    broken: frozenset[str] = frozenset()
    path: str = "k.cu"
    kernel: str = "k"
    said: list[str] = field(default_factory=list)

    def build(self, source: str) -> str:
        if source in self.broken:
            raise NotBuilt("nvcc says no")
        return source

    def judge(self, version: str) -> LaunchDiagnosis | None:
        return replace(launch_with_advice(), outcomes=self.findings[version])

    def bound(self, version: str, finding: Finding) -> Bound | None:
        return self.bounds.get(finding.rule.code)

    def check(self, before: str, after: str, edit: Edit, *, thorough: bool) -> Verification:
        assert before != after
        self.said.append(f"check {thorough}")
        return self.found.get((after, thorough), VERIFIED)

    def time(self, before: str, after: str) -> Gain:
        self.said.append("time")
        return self.gains[after]


def searched(bench: Played, *, late: bool = False) -> Found[str]:
    found = Found(SOURCE, SOURCE)
    search(bench, found, lambda: late, lambda _: None)
    return found


def test_a_verified_faster_change_is_kept_and_judged_again() -> None:
    bench = Played({SOURCE: (asks("float_literals", 5),), LITERAL: ()}, {LITERAL: FASTER})
    found = searched(bench)
    (attempt,) = found.attempts
    assert (attempt.decision, attempt.measured, attempt.step) == ("kept", FASTER, 0)
    assert "+        out[i] = in[i] * 2.0f;" in attempt.diff
    assert (found.source, found.kept, found.stopped) == (LITERAL, 1, "")
    assert found.first is not found.diagnosis
    assert bench.said == ["check False", "time", "check True"]


@pytest.mark.parametrize(
    ("gain", "reason"),
    [(SLOWER, "slower"), (SAME, "no faster beyond the noise"), (Gain(1.005, 1.01, 1.03), "hardly faster")],
)
def test_what_does_not_gain_is_not_kept_and_its_costly_checks_are_not_made(gain: Gain, reason: str) -> None:
    bench = Played({SOURCE: (asks("float_literals", 5),)}, {LITERAL: gain})
    found = searched(bench)
    (attempt,) = found.attempts
    assert (attempt.decision, attempt.reason, attempt.measured) == ("no gain", f"it is {reason}", gain)
    assert bench.said == ["check False", "time"]
    assert found.source == SOURCE


@pytest.mark.parametrize("thorough", [False, True])
@pytest.mark.parametrize("verdict", ["refuted", "unproven"])
def test_what_is_not_verified_is_not_kept(verdict: str, thorough: bool) -> None:
    failed = Verification(verdict, "element 3 is 1, not 2")  # type: ignore[arg-type]
    bench = Played({SOURCE: (asks("float_literals", 5),)}, {LITERAL: FASTER}, {(LITERAL, thorough): failed})
    (attempt,) = searched(bench).attempts
    assert (attempt.decision, attempt.reason) == (verdict, "element 3 is 1, not 2")
    assert bench.said[-1] == f"check {thorough}"


def test_what_does_not_compile_says_so() -> None:
    bench = Played({SOURCE: (asks("float_literals", 5),)}, broken=frozenset({LITERAL}))
    (attempt,) = searched(bench).attempts
    assert (attempt.decision, attempt.reason) == ("not built", "nvcc says no")


def test_a_change_that_cannot_be_written_names_the_obligation() -> None:
    (attempt,) = searched(Played({SOURCE: (asks("unroll", 5),)})).attempts
    assert (attempt.decision, attempt.diff) == ("not written", "")
    assert attempt.reason


def test_a_finding_whose_waste_costs_nothing_is_withdrawn() -> None:
    bound = Bound("Do not convert", Gain(0.99, 1.01, 1.04), "", "")
    bench = Played({SOURCE: (asks("float_literals", 5),)}, bounds={"INST001": bound})
    (attempt,) = searched(bench).attempts
    assert (attempt.decision, attempt.bound) == ("withdrawn", bound)
    assert bench.said == []


@pytest.mark.parametrize(("guard", "more"), [("a load is gone", ""), ("", "a private copy also spreads")])
def test_an_ablation_that_bounds_nothing_withdraws_nothing(guard: str, more: str) -> None:
    bound = Bound("Do not convert", Gain(0.99, 1.01, 1.04), guard, more)
    bench = Played({SOURCE: (asks("float_literals", 5),), LITERAL: ()}, {LITERAL: FASTER}, bounds={"INST001": bound})
    assert [each.decision for each in searched(bench).attempts] == ["kept"]


def test_the_measured_bound_decides_the_order() -> None:
    cast = SOURCE.replace("in[i] * 2.0", "in[i] * 2.0 / 3.0")
    findings = asks("float_literals", 5, best=3.0, code="INST001"), asks("fast_functions", 5, best=1.4, code="INST002")
    bench = Played({SOURCE: findings}, {LITERAL: SAME}, bounds={"INST001": Bound("", Gain(1.1, 1.2, 1.3), "", "")})
    assert cast != SOURCE
    assert [each.rule for each in searched(bench).attempts] == ["INST002", "INST001"]


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
    assert [each.optimization for each in found.attempts[2:]] == ["lower_precision"]  # nothing is said twice
