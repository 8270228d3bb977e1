"""A store is a baseline: launches of the same kernel, GPU and settings; others are refused by name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ncuview.base.errors import BaselineMissing, NotComparable
from ncuview.base.paths import shipped
from ncuview.gate.spread import Spreads
from ncuview.pipeline import gates
from ncuview.pipeline.examine import Examined
from ncuview.pipeline.stored_baseline import StoredBaseline, baseline_in, stored_baseline
from ncuview.reader.settings import Settings
from ncuview.records.profile import Device
from tests.command_line import ncuview
from tests.pipeline.test_stored import TIMES, reports, stored
from tests.profiles import recorded_diagnosis, recorded_profile

if TYPE_CHECKING:
    from ncuview.gate.baseline import Baseline
    from ncuview.records.gate import Gate

LOCKED = Settings("base", "all", "kernel")


def examined(ncu_version: str = "2025.3.1") -> Examined:
    """The recorded launches, as new ones."""
    found = recorded_diagnosis("transpose")
    info = replace(found.reports[0], path="gone.ncu-rep", ncu_version=ncu_version)
    return Examined(replace(found, reports=(info,)), recorded_profile("transpose"))


def ask(name: str, now: Examined | None = None, settings: Settings = LOCKED, choice: str = "") -> Baseline:
    return baseline_in(StoredBaseline(name, choice), now or examined(), [settings], Spreads({}))


def test_several_runs_give_median_and_spread(tmp_path: Path) -> None:
    found = ask(stored(tmp_path / "fleet", reports()[:5]))
    first = recorded_diagnosis("transpose").launches[0]
    same = [each for each in found.kernels if each.kernel == recorded_diagnosis("transpose").launches[-1].kernel]
    assert max(each.repeats for each in same) == 3  # of 2025.3; two points have another version of ncu
    timed = [each for each in found.kernels if each.demangled == first.demangled and each.grid == first.grid]
    medians = {each.duration_ns.median for each in timed if each.duration_ns}
    assert round(first.duration_ns * TIMES[4]) in medians
    assert found.conditions.ncu == ("2025.3.1",)
    assert found.conditions.clock_control == "base"


def test_a_point_is_chosen(tmp_path: Path) -> None:
    name = stored(tmp_path / "fleet", reports())
    assert {each.repeats for each in ask(name, choice="c2").kernels} <= {1, 2}
    with pytest.raises(BaselineMissing, match="there is no report of main in"):
        ask(name, choice="main")


def test_other_conditions_are_kept_apart_so_that_the_check_names_them(tmp_path: Path) -> None:
    name = stored(tmp_path / "fleet", reports())
    assert ask(name, examined("2025.2.0")).conditions.ncu == ("2025.2.0",)
    unlocked = ask(name, settings=Settings("none", "all", "kernel"))
    assert unlocked.conditions.clock_control == "base"
    other = examined()
    moved = tuple(replace(each, device=Device("NVIDIA A100", "8.0")) for each in other.diagnosis.launches)
    elsewhere = Examined(replace(other.diagnosis, launches=moved), other.profile)
    assert ask(name, elsewhere).conditions.gpus == ("NVIDIA H200",)


def test_other_kernels_are_not_compared(tmp_path: Path) -> None:
    name = stored(tmp_path / "fleet", reports())
    other = Examined(recorded_diagnosis("matmul"), recorded_profile("matmul"))
    with pytest.raises(NotComparable, match=r"no launch in .* is of the same kernel"):
        ask(name, other)


def test_names_of_stores(tmp_path: Path) -> None:
    name = stored(tmp_path / "fleet", reports()[:4])
    assert stored_baseline(name) == StoredBaseline(name, "")
    assert stored_baseline(f"{name}@main") == StoredBaseline(name, "main")
    assert stored_baseline("s3://bucket/fleet@main") == StoredBaseline("s3://bucket/fleet", "main")
    assert stored_baseline(str(tmp_path / "baseline.json")) is None
    assert stored_baseline(str(tmp_path / "other@main")) is None


def test_check_takes_a_store(tmp_path: Path) -> None:
    report, fleet = shipped("kernels") / "transfers" / "h200.ncu-repz", tmp_path / "fleet"
    assert ncuview("store", "add", report, "--to", fleet, "--label", "branch=main", "--processes", "1").code == 0
    itself = ncuview("check", report, "--baseline", f"{fleet}@main")
    assert itself.code == 4, itself.err
    assert "there is no report of main" in itself.out
    assert "besides the checked ones" in " ".join(itself.out.split())
    allowed = ncuview("check", report, "--baseline", f"{fleet}@main", "--allow-missing-baseline")
    assert allowed.code == 0
    missing = ncuview("check", report, "--baseline", tmp_path / "nothing@main")
    assert missing.code == 4
    assert "there is no baseline" in missing.out


def test_the_gate_closes_where_a_kernel_is_slower_than_in_the_store(tmp_path: Path) -> None:
    name = stored(tmp_path / "fleet", reports()[:4])
    same, first = replace(examined(), settings=LOCKED), recorded_diagnosis("transpose").launches[0]
    slower = replace(first, duration_ns=first.duration_ns * 2)
    launches = (slower, *same.diagnosis.launches[1:])
    changed = replace(same, diagnosis=replace(same.diagnosis, launches=launches))
    assert not failed(gates.check(same, baseline=(name, ask(name, same))))
    assert failed(gates.check(changed, baseline=(name, ask(name, changed)))) == {first.demangled}


def test_what_is_not_comparable_is_refused_by_name(tmp_path: Path) -> None:
    name, unlocked = stored(tmp_path / "fleet", reports()), Settings("none", "all", "kernel")
    with pytest.raises(NotComparable, match="clock control"):
        gates.check(replace(examined(), settings=unlocked), baseline=(name, ask(name, settings=unlocked)))


def failed(gate: Gate) -> set[str]:
    """The kernels of failed checks."""
    return {check.kernel for check in gate.checks if check.result == "failed"}
