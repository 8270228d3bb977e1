"""The words that pages share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.api import load_rules
from ncuview.diagnose.rank import diagnose
from ncuview.render.words import kernel_words, verdict_headline, verdict_reason
from tests.builders import USE, Launch, make_profile


@pytest.mark.parametrize(
    ("demangled", "shown"),
    [
        ("transposeNaive(float *, const float *, int)", "transposeNaive"),
        ("void rotate<(int)32, (int)8>(float *, int)", "rotate<(int)32, (int)8>"),
        ("void (anonymous namespace)::scale<float>(float *)", "(anonymous namespace)::scale<float>"),
        ("apply(void (*)(int), float)", "apply"),
        ("triton_kernel", "triton_kernel"),
        ("(", "("),
        ("", ""),
    ],
)
def test_a_kernel_is_shown_without_parameters_and_result(demangled: str, shown: str) -> None:
    assert kernel_words(demangled) == shown


@given(st.text(alphabet="ab<>() ,:", max_size=30))
def test_no_name_is_lost(demangled: str) -> None:
    assert kernel_words(demangled) or not demangled.strip()


def test_what_could_not_be_judged_is_not_called_far_from_its_peak() -> None:
    busy = Launch(metrics={USE["dram"]: 90.0})
    [judged, unjudged, idle] = diagnose(
        make_profile(busy, busy.without("launch__occupancy_limit_registers"), Launch()), load_rules()
    ).launches
    assert verdict_headline(judged) == "Near its peak. Stop here."
    assert verdict_headline(unjudged) == "Unclear: no rule promises a gain, and some could not judge the launch."
    assert verdict_reason(unjudged).endswith(" at 90% of its peak. What the rules could not judge is listed below.")
    assert verdict_headline(idle).endswith("the launch is not near its peak.")
    assert "listed below" not in verdict_reason(idle)
