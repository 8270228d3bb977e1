"""The call sites of inlined code, on recorded profiles of an H200, whose lines ncu gave."""

from __future__ import annotations

import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from ncuview.catalogue.kernels import recorded_report
from ncuview.reader.inlining import with_call_sites
from ncuview.reader.precheck import read_report
from ncuview.reader.reader import read
from ncuview.reader.snapshot import Snapshot
from ncuview.reader.source import Sources
from ncuview.records.profile import Profile
from tests.builders import make_profile
from tests.profiles import LABELLED, RECORDED, profile_of
from tests.together import together

REPORTS = [*RECORDED, *LABELLED[::40]]
P12 = Path(__file__).parents[3] / "validation" / "h200" / "p012.ncu-repz"


def code(profile: Profile, launch: int, file: str, line: int) -> str:
    report = str(profile.launches["report"].iloc[launch])
    return Sources(profile).text(report, file).split("\n")[line - 1]


@pytest.mark.parametrize("report", [*RECORDED, *LABELLED], ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_recorded_module_agrees_with_ncu_on_every_instruction(report: Path) -> None:
    profile = with_call_sites(profile_of(report))
    assert sorted(profile.call_sites) == list(profile.launches.index)


@together("report", REPORTS[::3])
def test_calls_stand_in_the_file_of_the_kernel(report: Path) -> None:
    profile = with_call_sites(profile_of(report))
    for launch, calls in profile.call_sites.items():
        rows = profile.instructions[profile.instructions["launch"] == launch].set_index("address")
        kernels_file = rows["file"].iloc[0]
        assert {call.file for call in calls.values()} <= {kernels_file}
        assert set(calls) <= set(rows.index)


def test_a_shuffle_is_called_from_the_line_that_writes_it() -> None:
    profile = with_call_sites(profile_of(recorded_report("reduction"), kernel="reduce_shuffle"))
    header = profile.instructions["file"].str.endswith("sm_30_intrinsics.hpp")
    assert header.any()
    for launch, address in zip(*(profile.instructions[header][name] for name in ("launch", "address")), strict=True):
        call = profile.call_sites[launch][address]
        assert re.search(r"warpReduce|__shfl", code(profile, launch, call.file, call.line))


@pytest.mark.validation
def test_device_functions_of_the_same_file_are_called_from_the_kernel() -> None:
    profile = with_call_sites(profile_of(P12, kernel="k12a"))
    calls = {code(profile, 0, call.file, call.line).strip() for call in profile.call_sites[0].values()}
    assert calls == {
        "stage_bias(x, bias, out, n);",
        "stage_gelu(out, n);",
        "stage_residual(residual, scale, out, n);",
    }


@pytest.mark.validation
def test_a_table_that_disagrees_with_ncu_is_not_used() -> None:
    report = P12
    profile = profile_of(report, kernel="k12a")
    moved = profile.instructions.assign(line=profile.instructions["line"] + 1000)
    assert with_call_sites(profile).call_sites
    assert not with_call_sites(replace(profile, instructions=moved)).call_sites


@pytest.mark.validation
def test_where_there_is_no_room_for_the_report_the_profile_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    profile = profile_of(P12, kernel="k12a")

    def full(*_: object) -> Snapshot:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Snapshot, "of", full)
    assert with_call_sites(profile).call_sites == {}


@pytest.mark.validation
def test_a_report_that_was_cut_since_has_the_call_sites_of_what_is_left(tmp_path: Path) -> None:
    report = tmp_path / "cut.ncu-rep"
    complete = read_report(P12)
    report.write_bytes(complete)
    profile = read([report])
    before = {each.name for each in Path("/proc/self/fd").iterdir()}
    report.write_bytes(complete[:-9])
    assert with_call_sites(profile).call_sites == with_call_sites(profile_of(P12)).call_sites
    assert {each.name for each in Path("/proc/self/fd").iterdir()} == before


def test_a_missing_report_or_another_file_leaves_the_profile_as_it_is(tmp_path: Path) -> None:
    other = tmp_path / "other.ncu-rep"
    other.write_bytes(b"something else")
    for path in (tmp_path / "gone.ncu-rep", other):
        profile = make_profile(report=str(path))
        result = with_call_sites(profile)
        assert result.call_sites == {}
        others = [each.name for each in fields(profile) if each.name != "call_sites"]
        assert [name for name in others if getattr(result, name) is not getattr(profile, name)] == []
