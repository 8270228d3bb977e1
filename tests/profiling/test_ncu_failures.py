"""Every entry of the catalogue of failures says what to do; requested metrics without a value are named."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncuview.api import load_rules
from ncuview.base import errors
from ncuview.engine.plan import metrics_for
from ncuview.profiling.ncu_failures import Failure, catalogue, failure, note, without_values
from ncuview.records.profile import Profile
from tests.profiles import recorded_profile
from tests.together import together


@together("found", catalogue(), name=lambda found: f"{found.id} {found.kind}")
def test_every_entry_says_what_to_do(found: Failure) -> None:
    assert found.id.startswith("NCU-")
    assert found.what
    assert found.fix
    assert (found.kind == "note") == (not found.error)
    assert found.kind in {"ours", "note"} or found.texts
    assert found == failure(found.id) or found.kind == "symptom"
    if found.error:
        error = found.as_error()
        assert isinstance(error, errors.NcuviewError)
        assert (error.id, error.exit_code in {2, 3, 5, 6}, error.hint) == (found.id, True, found.fix)


def test_a_note_says_its_numbers() -> None:
    assert note("NCU-JIT", launches="201", size="3 MB").what == "201 launches were profiled, 3 MB of reports"


METRICS = metrics_for(load_rules())


@pytest.fixture(scope="module")
def recorded() -> Profile:
    return recorded_profile("transpose")


def test_a_recorded_profile_holds_all_that_was_asked_for(recorded: Profile) -> None:
    assert without_values(METRICS, recorded) is None


def test_a_metric_that_ncu_does_not_know_is_named(recorded: Profile) -> None:
    error = without_values([*METRICS, "sm__bogus.sum"], recorded)
    assert error is not None
    assert (error.id, error.exit_code) == ("NCU-METRIC", 3)
    assert "requested metrics: sm__bogus.sum (1 of 1 in all launches)" in str(error)
    assert error.hint


def test_a_metric_without_a_value_in_one_launch_is_named(recorded: Profile) -> None:
    metrics = recorded.metrics.copy()
    metrics.loc[3, "dram__bytes_read.sum"] = float("nan")
    error = without_values(METRICS, replace(recorded, metrics=metrics))
    assert "requested metrics: dram__bytes_read.sum (0 of 1 in all launches)" in str(error)


def test_of_many_some_are_named(recorded: Profile) -> None:
    error = without_values([f"sm__bogus{number}.sum" for number in range(9)], recorded)
    assert "sm__bogus4.sum and 4 more (9 of 9" in str(error)
