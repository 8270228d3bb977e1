"""Baselines: what is saved, how it is read back, and the checks when something changed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from ncuview.base.errors import BaselineError, BaselineMissing, NotComparable
from ncuview.base.paths import shipped
from ncuview.gate.baseline import Baseline, baseline_of, baseline_schema, few_repeats, read_baseline, save_baseline
from ncuview.gate.budget import BaselineLimits, Budget
from ncuview.gate.judge import judge
from ncuview.gate.spread import KernelSpread, Spreads
from ncuview.gate.verdict import exit_code
from ncuview.pipeline.examine import Examined, examine
from ncuview.pipeline.gates import check, save_as_baseline
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.gate import Check, Gate
from tests.gate.made import diagnosis, launch, profile

SETTINGS = Settings("none", "all", "kernel")
REAL = shipped("kernels") / "bank_patterns" / "h200.ncu-repz"


def saved(*launches: LaunchDiagnosis, spreads: Spreads | None = None, settings: Settings = SETTINGS) -> Baseline:
    return baseline_of(diagnosis(*launches), [settings], spreads or Spreads(), "0.1.0")


def gate(before: Baseline, *launches: LaunchDiagnosis, limits: BaselineLimits | None = None, **how: Any) -> Gate:
    numbered = [replace(each, index=index) for index, each in enumerate(launches)]
    now = Examined(diagnosis(*numbered), profile(*numbered), how.pop("settings", SETTINGS))
    return check(now, Budget(baseline=limits or BaselineLimits()), ("main.json", before), **how)


VERSION_1 = Path(__file__).parent / "version_1" / "baseline.json"
"""As ncuview 0.1 saved it, of divergentOnWarpBorder."""


def wrong(found: Gate) -> list[Check]:
    return [each for each in found.checks if each.result != "passed"]


def five(time_ns: float = 100_000.0, **counts: float) -> list[LaunchDiagnosis]:
    return [launch(time_ns=time_ns * (1 + step / 1000), counts=counts) for step in range(-2, 3)]


# Files


def test_a_baseline_is_read_back_as_it_was_and_fits_its_schema(tmp_path: Path) -> None:
    made = saved(*five(), launch("other", time_ns=float("nan")), launch(counts={"inst_executed": 1005.0}))
    save_baseline(made, tmp_path / "main.json")
    assert read_baseline(tmp_path / "main.json") == made
    document = json.loads((tmp_path / "main.json").read_text(encoding="utf-8"))
    schema = baseline_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(document, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "schema": "ncuview.baseline/1"}, schema)
    assert list(tmp_path.iterdir()) == [tmp_path / "main.json"], "no temporary file is left"


def test_a_baseline_of_version_1_is_read_and_saved_as_version_2(tmp_path: Path) -> None:
    old = json.loads(VERSION_1.read_text(encoding="utf-8"))
    save_baseline(read_baseline(VERSION_1), tmp_path / "new.json")
    new = json.loads((tmp_path / "new.json").read_text(encoding="utf-8"))
    (was,), (now,) = old["kernels"], new["kernels"]
    assert (old["schema"], new["schema"]) == ("ncuview.baseline/1", "ncuview.baseline/2")
    assert old["conditions"] == new["conditions"]
    assert (was.pop("wall"), was.pop("walls")) == (now.pop("bottleneck"), now.pop("units"))
    assert was == now


def test_a_baseline_that_cannot_be_read_says_how_to_save_it_again(tmp_path: Path) -> None:
    old = VERSION_1.read_text(encoding="utf-8")
    (tmp_path / "main.json").write_text(old.replace('"walls"', '"busy"'), encoding="utf-8")
    with pytest.raises(BaselineError, match=r"main\.json: kernels\.0") as caught:
        read_baseline(tmp_path / "main.json")
    assert "ncuview check TARGET --save-baseline FILE" in caught.value.hint


def test_a_metric_is_a_line_so_that_reviews_read_well(tmp_path: Path) -> None:
    save_baseline(saved(launch()), tmp_path / "a.json")
    save_baseline(saved(launch(counts={"inst_executed": 1001.0})), tmp_path / "b.json")
    one, other = ((tmp_path / name).read_text(encoding="utf-8").splitlines() for name in ("a.json", "b.json"))
    assert sum(a != b for a, b in zip(one, other, strict=True)) == 1


def test_the_conditions_are_saved() -> None:
    conditions = saved(launch()).conditions
    assert (conditions.gpus, conditions.ncu) == (("NVIDIA H200",), ("2025.3.1",))
    assert (conditions.clock_control, conditions.cache_control, conditions.ncuview) == ("none", "all", "0.1.0")


def test_kernels_with_few_launches_are_counted_in_a_note() -> None:
    assert few_repeats(saved(*five())) == ""
    note = few_repeats(saved(*five(), launch("alone")))
    assert note.startswith("1 of 2 kernels have fewer than 3 launches")
    assert "five runs" in note


def test_a_metric_that_varies_is_saved_with_its_bounds() -> None:
    (entry,) = saved(*five(), launch(counts={"inst_executed": 1010.0})).kernels
    assert entry.repeats == 6
    assert entry.metrics["inst_executed"].bounds == (1000.0, 1010.0)
    assert entry.metrics["gst_transactions_per_request"].bounds == (4.0, 4.0)
    assert entry.duration_ns is not None
    assert entry.duration_ns.deviation > 0


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", "file"),
        ("{}", "schema"),
        ("[1]", "file"),
        ('{"schema": "ncuview.baseline/3"}', "schema"),
        ('{"schema": "ncuview.baseline/1", "conditions": {}}', "conditions.gpus"),
    ],
)
def test_a_file_that_is_no_baseline_is_refused(tmp_path: Path, text: str, key: str) -> None:
    path = tmp_path / "bad.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BaselineError, match=key) as caught:
        read_baseline(path)
    assert caught.value.exit_code == 2


def test_a_missing_baseline_has_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(BaselineMissing) as caught:
        read_baseline(tmp_path / "none.json")
    assert caught.value.exit_code == 4


def test_what_was_there_stays_when_a_baseline_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "main.json").mkdir()
    with pytest.raises(BaselineError, match="cannot be written"):
        save_baseline(saved(launch()), tmp_path / "main.json")
    assert [path.name for path in tmp_path.iterdir()] == ["main.json"]


# Comparing


def test_nothing_changed() -> None:
    found = gate(saved(*five()), *five())
    assert wrong(found) == []
    assert [each.subject for each in found.checks] == ["duration_ns", "counters"]


def test_one_instruction_more_fails_and_names_both_numbers() -> None:
    (found,) = wrong(gate(saved(*five()), *five(inst_executed=1001.0)))
    assert (found.subject, found.result, found.measured, found.limit) == ("inst_executed", "failed", 1001.0, 1000.0)
    assert "1,001 warp inst, 1,000 warp inst in the baseline" in found.message
    assert found.origin == "baseline main.json"


def test_less_of_what_should_be_much_fails() -> None:
    before = saved(*five(branch_efficiency=100.0))
    assert [each.subject for each in wrong(gate(before, *five(branch_efficiency=99.0)))] == ["branch_efficiency"]


def test_what_became_better_passes_and_is_named() -> None:
    found = gate(saved(*five()), *five(inst_executed=900.0))
    assert wrong(found) == []
    assert "better: inst_executed 1,000 warp inst -> 900 warp inst" in found.checks[1].message


def test_near_exact_counters_have_their_two_percent() -> None:
    before = saved(*five(dram_read_bytes=1000.0))
    assert wrong(gate(before, *five(dram_read_bytes=1019.0))) == []
    assert [each.subject for each in wrong(gate(before, *five(dram_read_bytes=1025.0)))] == ["dram_read_bytes"]


def test_counters_that_varied_in_the_baseline_may_vary_now() -> None:
    before = saved(*five(), launch(counts={"inst_executed": 1010.0}))
    assert wrong(gate(before, *five(inst_executed=1015.0))) == []
    assert wrong(gate(before, *five(inst_executed=1100.0)))


@pytest.mark.parametrize(("now", "failed"), [(1050.0, False), (1080.0, True)])
def test_counters_that_are_known_to_spread_have_their_room(now: float, failed: bool) -> None:
    spread = KernelSpread(repeats=6, time=0.01, metrics={"inst_executed": 0.04})
    known = Spreads({"NVIDIA H200": {"copy(float *, int)": spread}})
    before = saved(*five(), spreads=known)
    entry = before.kernels[0].duration_ns
    assert entry is not None
    assert entry.spread == 0.01
    launches = five(inst_executed=now)
    found = judge(diagnosis(*launches), profile(*launches), Budget(), ("main.json", before), settings={}, spreads=known)
    assert any(each.subject == "inst_executed" for each in wrong(found)) is failed


def test_counters_that_are_known_to_spread_far_are_not_compared() -> None:
    spread = KernelSpread(repeats=6, time=0.01, metrics={"inst_executed": 0.5})
    known = Spreads({"NVIDIA H200": {"copy(float *, int)": spread}})
    launches = five(inst_executed=5000.0)
    found = judge(
        diagnosis(*launches), profile(*launches), Budget(), ("main.json", saved(*five())), settings={}, spreads=known
    )
    assert wrong(found) == []


def test_a_slowdown_fails_and_names_the_changed_counters() -> None:
    before = saved(*five(gst_transactions=4000.0))
    slow, count = wrong(gate(before, *five(200_000.0, gst_transactions=32000.0)))
    assert (slow.subject, slow.result, count.subject) == ("duration_ns", "failed", "gst_transactions")
    assert "200 us (median of 5), 100 % more than 100 us (median of 5) in the baseline" in slow.message
    assert "what changed: sectors stored 4,000 sector -> 32,000 sector" in slow.message


def test_a_few_percent_pass_and_ten_fail() -> None:
    before = saved(*five())
    assert wrong(gate(before, *five(102_000.0))) == []
    assert [each.result for each in wrong(gate(before, *five(110_000.0)))] == ["failed"]


def test_a_single_slower_launch_is_inconclusive() -> None:
    (found,) = wrong(gate(saved(launch()), launch(time_ns=112_000.0)))
    assert (found.result, found.level) == ("inconclusive", "error")
    assert exit_code(gate(saved(launch()), launch(time_ns=112_000.0))) == 4


def test_unless_a_counter_says_already_that_it_is_worse() -> None:
    found = gate(saved(launch()), launch(time_ns=112_000.0, counts={"inst_executed": 2000.0}))
    assert [(each.result, each.level) for each in wrong(found)] == [("inconclusive", "warn"), ("failed", "error")]
    assert exit_code(found) == 1


def test_a_counter_that_is_no_longer_collected_is_no_pass() -> None:
    now = launch()
    now = replace(now, metrics={name: each for name, each in now.metrics.items() if name != "inst_executed"})
    (found,) = wrong(gate(saved(launch()), now))
    assert (found.result, "inst_executed" in found.message) == ("not judged", True)


def test_new_and_vanished_kernels_only_warn() -> None:
    found = gate(saved(launch(), launch("old"), launch("older")), launch(), launch("new"), launch("newer"))
    strangers = {each.kernel.partition("(")[0]: each for each in wrong(found)}
    assert strangers.keys() == {"old", "older", "new", "newer"}
    assert {(each.subject, each.result, each.level) for each in strangers.values()} == {("launches", "failed", "warn")}
    assert exit_code(found) == 0
    stern = gate(saved(launch(), launch("old")), launch(), limits=BaselineLimits(kernels="error"))
    assert exit_code(stern) == 1


def test_a_kernel_with_another_grid_is_named_as_such() -> None:
    (found,) = wrong(gate(saved(launch(), launch("b")), launch(grid=(9, 1, 1)), launch("b")))
    assert "grid 8 -> 9" in found.message
    assert found.level == "warn"


def test_levels_and_tolerance_are_the_team_s() -> None:
    before = saved(*five())
    assert wrong(gate(before, *five(130_000.0), limits=BaselineLimits(tolerance=0.5))) == []
    assert wrong(gate(before, *five(130_000.0), limits=BaselineLimits(time="off"))) == []
    (found,) = wrong(gate(before, *five(inst_executed=2000.0), limits=BaselineLimits(counters="warn")))
    assert found.level == "warn"


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"settings": Settings("base", "all", "kernel")}, "clock control none before, base after"),
        ({"settings": Settings("none", "none", "kernel")}, "cache control all before, none after"),
    ],
)
def test_other_settings_are_not_comparable_unless_forced(changed: dict[str, Any], named: str) -> None:
    with pytest.raises(NotComparable, match=named):
        gate(saved(launch()), launch(), **changed)
    assert named in gate(saved(launch()), launch(), force=True, **changed).remark


def test_another_gpu_or_ncu_is_not_comparable() -> None:
    with pytest.raises(NotComparable, match="GPU NVIDIA A100 before, NVIDIA H200 after"):
        gate(saved(launch(gpu="NVIDIA A100")), launch())
    was = Diagnosis((launch(),), (replace(diagnosis().reports[0], ncu_version="2024.1.0"),))
    with pytest.raises(NotComparable, match=r"ncu 2024\.1 before, 2025.3 after"):
        gate(baseline_of(was, [SETTINGS], Spreads(), "0.1.0"), launch())


def test_what_is_unknown_is_said() -> None:
    judged = gate(saved(launch(), settings=Settings()), launch())
    assert judged.unrecorded == (
        "the baseline or these reports do not record clock control, cache control, replay mode;"
        " they are compared as they are"
    )
    assert judged.remark == ""


# Real reports


@pytest.fixture(scope="module")
def real() -> Examined:
    return examine(REAL)


def test_a_real_report_is_as_its_own_baseline(real: Examined, tmp_path: Path) -> None:
    save_as_baseline(real, tmp_path / "main.json")
    found = check(real, None, ("main.json", read_baseline(tmp_path / "main.json")))
    assert wrong(found) == []
    assert exit_code(found) == 0


def test_a_kernel_with_bank_conflicts_in_place_of_one_without_is_caught(real: Examined) -> None:
    by_name = {each.kernel: each for each in real.diagnosis.launches}
    good, bad = by_name["bank_column_padded"], by_name["bank_column"]
    assert (good.grid, good.block) == (bad.grid, bad.block)
    before = baseline_of(replace(real.diagnosis, launches=(good,)), [], Spreads(), "0.1.0")
    swapped = replace(bad, kernel=good.kernel, demangled=good.demangled)
    now = Examined(replace(real.diagnosis, launches=(swapped,)), real.profile)
    found = check(now, None, ("main.json", before))
    assert {"shared_bank_conflict_ways", "duration_ns"} <= {
        each.subject for each in found.checks if each.result == "failed"
    }
    assert exit_code(found) == 1
    blamed = next(each for each in found.checks if each.subject == "shared_bank_conflict_ways")
    assert blamed.where
    assert blamed.where[0].file.endswith("bank_column.cu")
