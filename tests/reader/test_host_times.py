"""The host's times from the file beside a report: joined by the launch's index, NaN where they are missing."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import ReportError
from ncuview.base.paths import shipped
from ncuview.catalogue.kernels import family, launches_of
from ncuview.reader.host_times import HOST_TIMES, host_times, host_times_of, with_host_times
from ncuview.records.profile import HostTimes, Profile
from tests.builders import Launch, make_profile

TIMES = {
    "host__to_device_time": 1_200_000.0,
    "host__kernel_time": 1_000_000.0,
    "host__to_host_time": 1_300_000.0,
    "host__whole_time": 3_600_000.0,
}
ENTRY = {**TIMES, "host__copied_bytes": 134_217_728, "host__copies": 16, "host__streams": 2, "host__pinned": 1}
THREE = make_profile(*(Launch(kernel=name) for name in "abc"))


def joined(folder: Path, *entries: dict[str, Any], profile: Profile = THREE) -> Profile:
    return joined_text(folder, json.dumps({"launches": entries}), profile)


def joined_text(folder: Path, text: str, profile: Profile = THREE) -> Profile:
    sidecar = folder / "made.host.json"
    sidecar.write_text(text, encoding="utf-8")
    return with_host_times(profile, sidecar)


@pytest.mark.parametrize(("report", "sidecar"), [("h200.ncu-rep", "h200.host.json"), ("a.b.ncu-rep", "a.b.host.json")])
def test_the_times_are_in_a_file_beside_their_report(report: str, sidecar: str) -> None:
    assert host_times_of(Path("somewhere") / report) == Path("somewhere") / sidecar


def test_times_become_metrics_of_the_launch_that_they_name(tmp_path: Path) -> None:
    profile = joined(tmp_path, {"index": 2, "kernel": "c", **ENTRY})
    assert profile.metrics.loc[2, list(ENTRY)].to_dict() == ENTRY
    assert profile.metrics.loc[[0, 1], list(ENTRY)].isna().all(axis=None)
    assert host_times(profile) == [None, None, HostTimes(1_200_000.0, 1_000_000.0, 1_300_000.0, 3_600_000.0)]


def test_the_order_of_the_entries_does_not_matter(tmp_path: Path) -> None:
    entries = [{"index": index, **ENTRY, "host__whole_time": 1e6 * (index + 4)} for index in (2, 0, 1)]
    assert joined(tmp_path, *entries).metrics["host__whole_time"].tolist() == [4e6, 5e6, 6e6]


def test_everything_else_stays_as_it_was(tmp_path: Path) -> None:
    before = THREE.metrics.copy()
    profile = joined(tmp_path, {"index": 0, **ENTRY})
    assert profile.metrics[list(before.columns)].equals(before)
    assert THREE.metrics.equals(before)
    assert profile.launches is THREE.launches
    assert profile.units == {**THREE.units, **HOST_TIMES}


def test_only_a_choice_of_a_reports_launches_takes_its_own_times(tmp_path: Path) -> None:
    third = THREE.launches.iloc[[2]].reset_index(drop=True)
    chosen = Profile((), third, THREE.metrics.iloc[[2]].reset_index(drop=True), {}, THREE.instructions, {})
    entries = [{"index": index, **ENTRY, "host__whole_time": 1e6 * (index + 4)} for index in range(3)]
    assert joined(tmp_path, *entries, profile=chosen).metrics["host__whole_time"].tolist() == [6e6]


def test_an_entry_for_no_launch_of_the_profile_is_left_out(tmp_path: Path) -> None:
    assert host_times(joined(tmp_path, {"index": 7, **ENTRY})) == [None, None, None]


def test_no_launch_takes_the_times_of_another(tmp_path: Path) -> None:
    times = host_times(joined(tmp_path, {"index": 0, **ENTRY}))
    assert [each is not None for each in times] == [True, False, False]


def test_a_file_without_entries_times_nothing(tmp_path: Path) -> None:
    profile = joined(tmp_path)
    assert profile.metrics[list(HOST_TIMES)].isna().all(axis=None)
    assert host_times(profile) == [None, None, None]


def test_a_profile_without_a_file_has_no_times() -> None:
    assert host_times(THREE) == [None, None, None]


@pytest.mark.parametrize("name", TIMES)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, None, "left out"])
def test_a_launch_of_which_one_time_is_unknown_was_not_timed(tmp_path: Path, name: str, value: object) -> None:
    entry = {"index": 1, **ENTRY, name: value}
    if value == "left out":
        del entry[name]
    assert host_times(joined(tmp_path, entry)) == [None, None, None]


def test_what_is_not_a_time_may_be_unknown(tmp_path: Path) -> None:
    profile = joined(tmp_path, {"index": 1, **TIMES})
    assert host_times(profile)[1] == HostTimes(*TIMES.values())
    assert profile.metrics["host__streams"].isna().all()


def test_an_unknown_key_becomes_no_metric(tmp_path: Path) -> None:
    profile = joined(tmp_path, {"index": 1, **ENTRY, "host__secret": 7})
    assert set(profile.metrics.columns) - set(THREE.metrics.columns) == set(HOST_TIMES)


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="gone"):
        with_host_times(THREE, tmp_path / "gone.host.json")


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"launches": [',
        "[]",
        "{}",
        '{"launches": 5}',
        '{"launches": [5]}',
        '{"launches": [{"host__whole_time": 1.0}]}',
        '{"launches": [{"index": 0, "host__whole_time": "soon"}]}',
        '{"launches": [{"index": 0, "host__whole_time": [1, 2]}]}',
        "\x00\x01",
    ],
)
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    with pytest.raises(ReportError, match=r"made\.host\.json"):
        joined_text(tmp_path, text)


@pytest.mark.parametrize("value", ["5", True])
def test_a_text_is_no_number(tmp_path: Path, value: object) -> None:
    with pytest.raises(ReportError, match=r"made\.host\.json"):
        joined(tmp_path, {"index": 0, **ENTRY, "host__whole_time": value})


numbers = st.one_of(st.floats(), st.none(), st.integers(-(10**9), 10**9))


@given(st.lists(st.fixed_dictionaries(dict.fromkeys(TIMES, numbers)), min_size=3, max_size=3))
def test_a_launch_is_timed_exactly_when_all_four_times_are_numbers(
    tmp_path_factory: pytest.TempPathFactory, entries: list[dict[str, Any]]
) -> None:
    numbered = [{"index": index, **entry} for index, entry in enumerate(entries)]
    found = host_times(joined(tmp_path_factory.mktemp("times"), *numbered))
    for times, entry in zip(found, entries, strict=True):
        known = [float(entry[name]) for name in TIMES if entry[name] is not None and math.isfinite(entry[name])]
        assert times == (HostTimes(*known) if len(known) == len(TIMES) else None)


def test_the_recorded_times_are_of_the_launches_that_the_report_holds() -> None:
    sidecar = host_times_of(shipped("kernels") / "transfers" / "h200.ncu-rep")
    entries = json.loads(sidecar.read_text(encoding="utf-8"))["launches"]
    launches = launches_of(family("transfers"))
    assert [entry["index"] for entry in entries] == list(range(len(launches)))
    for entry, launch in zip(entries, launches, strict=True):
        how = launch.kernel.text.transfers
        assert how is not None
        assert entry["kernel"] == launch.kernel.name
        assert (entry["host__copies"], entry["host__streams"]) == launch.pieces
        assert entry["host__pinned"] == (how.memory == "pinned")
        assert entry["host__copied_bytes"] == launch.useful_bytes
        assert np.isfinite([entry[name] for name in HOST_TIMES]).all()
