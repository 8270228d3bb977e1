"""OpenMetrics: read back by Prometheus' own parser, one sample for each set of labels."""

from __future__ import annotations

from dataclasses import replace
from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from ncuview.records.diagnosis import Diagnosis
from ncuview.records.gate import Gate
from ncuview.render.openmetrics import openmetrics
from tests.hostile import each_hostile_text, poisoned
from tests.render.gate_sample import gate, poisoned_gate
from tests.render.recorded import recorded
from tests.render.sample import diagnosis, launch_near_peak, launch_with_advice

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def series(answer: Diagnosis, judged: Gate | None = None) -> Series:
    text = openmetrics(answer, judged)
    assert text.endswith("# EOF\n")
    found: Series = {}
    for family in text_string_to_metric_families(text):  # type: ignore[no-untyped-call]
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found, key
            assert isfinite(sample.value)
            found[key] = sample.value
    return found


def of(found: Series, name: str, **labels: str) -> list[float]:
    return [value for (each, own), value in found.items() if each == name and labels.items() <= dict(own).items()]


def test_a_kernel_has_its_series() -> None:
    found = series(diagnosis())
    own = {"kernel": "transposeCoalesced(float *, const float *, int)", "grid": "256x256", "block": "32x8"}
    own["device"] = "NVIDIA H200"
    assert of(found, "ncuview_duration_seconds", **own) == [328_320e-9]
    assert of(found, "ncuview_unit_use_ratio", unit="l1_data", **own) == [0.88]
    assert of(found, "ncuview_promised_speedup_ratio", **own) == [pytest.approx(2.18)]
    assert of(found, "ncuview_textbook_metric", metric="achieved_occupancy", unit="ratio 0-1", **own) == [0.94]
    assert of(found, "ncuview_verdict", verdict="advice", wall="l1_data", advice="shared_memory_padding", **own) == [1]
    assert not [name for name, _ in found if "gate" in name or "check" in name]


def test_launches_of_one_configuration_are_one_series_with_its_median_and_ends() -> None:
    times = (100.0, 300.0, 110.0)
    launches = tuple(replace(launch_near_peak(), index=at, duration_ns=time) for at, time in enumerate(times))
    found = series(Diagnosis(launches, ()))
    assert of(found, "ncuview_duration_seconds") == [pytest.approx(110e-9)]
    assert of(found, "ncuview_duration_min_seconds") == [pytest.approx(100e-9)]
    assert of(found, "ncuview_duration_max_seconds") == [pytest.approx(300e-9)]
    assert of(found, "ncuview_launches") == [3]


def test_the_gate_and_its_checks() -> None:
    found = series(diagnosis(), gate())
    assert of(found, "ncuview_gate_closed") == [1]
    assert of(found, "ncuview_gate_checks", result="failed") == [3]
    assert of(found, "ncuview_gate_checks", result="not judged") == [1]
    assert of(found, "ncuview_check_failed_ratio", subject="duration_ns", condition="at most 300,000 ns") == [1]
    assert of(found, "ncuview_check_measured", subject="duration_ns", unit="ns", origin="budget.toml, budget 1") == [
        328_320.0
    ]


def test_nothing_is_an_empty_document() -> None:
    assert openmetrics(Diagnosis((), ()), None) == "# EOF\n"


def test_names_that_only_differ_in_what_is_made_visible_do_not_collide() -> None:
    one, two = (replace(launch_with_advice(), demangled=name) for name in ("k\x1b", "k\\x1b"))
    assert len(of(series(Diagnosis((one, two), ())), "ncuview_duration_seconds")) == 1


def test_a_recorded_profile_can_be_read() -> None:
    found = series(recorded())
    kernels = {(launch.demangled, launch.grid, launch.block) for launch in recorded().launches}
    assert len(of(found, "ncuview_duration_seconds")) == len(kernels)


@each_hostile_text
def test_any_name_can_be_read(text: str) -> None:
    assert series(poisoned(diagnosis(), text), poisoned_gate(text))


@given(st.text(st.characters(), max_size=20))
def test_any_text_at_all_can_be_read(text: str) -> None:
    assert series(poisoned(diagnosis(), text), poisoned_gate(text))
