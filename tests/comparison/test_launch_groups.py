"""Launch groups: launches that repeat each other, by configuration, time and counters."""

from __future__ import annotations

from ncuview.api import diagnose
from ncuview.catalogue.kernels import recorded_report
from ncuview.comparison.launch_groups import group_launches
from ncuview.records.diagnosis import LaunchDiagnosis
from tests.gate.made import launch
from tests.profiles import profile_of


def counts(*launches: LaunchDiagnosis) -> list[int]:
    return [len(group.launches) for groups in group_launches(launches).values() for group in groups]


def test_launches_with_the_same_time_and_counts_are_repeats() -> None:
    assert counts(launch(), launch(time_ns=103_000.0), launch(time_ns=99_000.0)) == [3]


def test_other_grids_kernels_and_gpus_are_other_groups() -> None:
    assert counts(launch(), launch(grid=(9, 1, 1)), launch("other"), launch(gpu="NVIDIA A100")) == [1, 1, 1, 1]


def test_other_times_and_counts_are_other_groups() -> None:
    assert counts(launch(), launch(time_ns=140_000.0), launch(counts={"inst_executed": 1100.0}), launch()) == [2, 1, 1]


def test_races_and_short_launches_do_not_make_other_groups() -> None:
    assert counts(launch(), launch(counts={"inst_executed": 1010.0})) == [2]
    assert counts(launch(time_ns=2_000.0), launch(time_ns=2_800.0)) == [2]


def test_an_unknown_time_matches_every_group() -> None:
    assert counts(launch(), launch(time_ns=float("nan"))) == [2]


def test_the_middle_launch_has_the_median_time() -> None:
    ((group,),) = group_launches([launch(time_ns=time) for time in (103e3, 100e3, 101e3)]).values()
    assert (group.times.median_ns, group.middle.duration_ns) == (101e3, 101e3)


def test_real_launches_with_other_strides_are_other_groups() -> None:
    groups = group_launches(diagnose(profile_of(recorded_report("bank_patterns"), kernel="bank_strided")).launches)
    assert max(len(kinds) for kinds in groups.values()) == 5


def test_too_many_groups_are_one_group() -> None:
    assert counts(*(launch(counts={"inst_executed": 1000.0 * 2**kind}) for kind in range(16))) == [1] * 16
    assert counts(*(launch(counts={"inst_executed": 1000.0 * 2**kind}) for kind in range(17))) == [17]
