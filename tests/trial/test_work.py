"""Work by counters: real launches, right and wrong edits, ablations that have lost work, counters that are denied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ncuview.base.errors import Incomplete, NcuRefused, ReportEmpty, WrongResult
from ncuview.catalogue.compiler import Compiled
from ncuview.catalogue.kernel_file import Kernel
from ncuview.catalogue.kernels import family, find_kernel, launch_of, launches_of
from ncuview.catalogue.machine_code import KernelCode
from ncuview.metrics.analysis import Analysis
from ncuview.patch.patch import edit_between
from ncuview.pipeline import trials
from ncuview.profiling.options import NcuOptions
from ncuview.profiling.passes import WORK, passes_of
from ncuview.records.diagnosis import Finding, RuleId, SourceLine
from ncuview.records.profile import Profile, failure_of
from ncuview.records.trial import Bound, Bounds
from ncuview.sass.code import Code
from ncuview.trial.bounds import Means, bound_of
from ncuview.trial.cases import Build
from ncuview.trial.guards import PASSED, dynamic_guards
from ncuview.trial.kernel_files import Count, KernelFileBench
from ncuview.trial.sanitizer import TOOLS, Printed
from ncuview.trial.search import NotBuilt
from ncuview.trial.stages import Stages
from ncuview.trial.timing import Timing
from ncuview.trial.verify import Verification
from ncuview.trial.work import Arrays, Counted, Counters, Judged, arrays_of, counted, dropped, floor_ns, uncounted
from tests.emulation import needs_gpp
from tests.profiles import recorded_profile
from tests.render.sample import advice_finding, launch_with_advice
from tests.trial.building import catalogue, code
from tests.trial.emulated import build, process, reload_of, sanitizer, tools
from tests.trial.test_search import timing


def recorded(name: str) -> Counted:
    """What a recorded launch of the catalogue did, at its kernel's own size."""
    kernel = find_kernel(name)
    made = launches_of(family(kernel.text.family))
    at = next(at for at, each in enumerate(made) if (each.kernel.name, each.sizes) == (name, kernel.text.sizes))
    profile = recorded_profile(kernel.text.family)
    rows = profile.instructions["launch"] == at
    return counted(
        replace(
            profile,
            launches=profile.launches.iloc[[at]].reset_index(drop=True),
            metrics=profile.metrics.iloc[[at]].reset_index(drop=True),
            instructions=profile.instructions[rows].assign(launch=0).reset_index(drop=True),
            control_codes={},
            call_sites={},
        )
    )


def arrays(name: str) -> Arrays:
    return arrays_of(launch_of(find_kernel(name)))


def changed(before: Counted, **shares: float) -> Counted:
    """The same with amounts multiplied; a name has ``_`` for a space where that is a kind of work."""
    names = {name if name in before.amounts else name.replace("_", " "): share for name, share in shares.items()}
    return replace(before, amounts={**before.amounts, **{name: before.amounts[name] * names[name] for name in names}})


class TestRecorded:
    def test_the_fewest_passes_count_it(self) -> None:
        found = passes_of(WORK)
        assert (found.low, found.high, found.assumed) == (2, 2, ())

    def test_a_transposition_reads_and_stores_its_arrays_once(self) -> None:
        found = recorded("transposeCoalesced")
        elements = 8192 * 8192 * 4
        assert found.launches == (("transposeCoalesced", (256, 256, 1), (32, 8, 1)),)
        assert found.amounts["global loads"] == found.amounts["global stores"] == elements
        assert found.amounts["shared loads"] == found.amounts["shared stores"] == elements
        assert found.amounts["dram_bytes_read"] == pytest.approx(elements, rel=0.01)
        assert found.amounts["global atomics"] == 0
        assert arrays("transposeCoalesced") == Arrays(elements, elements)

    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("transposeNaive", "transposeCoalesced"),
            ("transposeCoalesced", "transposeNoBankConflicts"),
            ("reduce_v2", "reduce_v3"),
            ("sobel_global", "sobel_shared"),
            ("preciseSine", "fastSine"),
            ("column_smooth", "column_smooth_four"),
        ],
    )
    def test_right_changes_do_all_of_their_work(self, before: str, after: str) -> None:
        assert dropped(recorded(before), recorded(after), arrays(after)) == ""

    @pytest.mark.parametrize("of", ["access_patterns", "calibration", "stencil", "transpose"])
    def test_recorded_launches_read_what_they_need_and_take_longer_than_their_floor(self, of: str) -> None:
        analysis = Analysis(recorded_profile(of))
        for at, launch in enumerate(launches_of(family(of))):
            names = ("duration", "dram_pct", "dram_bytes_read", "dram_bytes_written")
            amounts = {name: float(analysis.value(name)[at]) for name in names}
            needs = arrays_of(launch)
            found = Counted((), {**amounts, "global stores": float(needs.outputs)})
            assert dropped(found, found, needs) == "", launch.kernel.name
            if launch.useful_bytes:
                assert amounts["dram_bytes_read"] >= 0.95 * needs.inputs, launch.kernel.name
            assert floor_ns(found, needs) <= 0.95 * amounts["duration"], launch.kernel.name

    def test_a_launch_at_its_peak_is_near_its_floor(self) -> None:
        found = recorded("dramRead")
        assert floor_ns(found, arrays("dramRead")) > 0.7 * found.amounts["duration"]


class TestGuards:
    """The bounds of guards over counters of recorded launches: an author's cure that does the same work passes."""

    @pytest.mark.parametrize(
        ("kind", "before", "after"),
        [
            ("conflict_free_index", "transposeCoalesced", "transposeNoBankConflicts"),
            ("conflict_free_index", "bank_column", "bank_column_padded"),
            ("float_literals", "doubleLiteral", "floatLiteral"),
            ("fast_functions", "preciseSine", "fastSine"),
            ("fast_functions", "preciseDivision", "fastDivision"),
            ("fast_power", "powersByFunction", "powersByProducts"),
            ("uniform_condition", "divergentWithinWarp", "divergentOnWarpBorder"),
            ("uniform_condition", "workersScattered", "workersContiguous"),
            ("coalesced_index", "load_scattered", "load_strided"),
            ("coalesced_index", "load_aos", "load_soa"),
        ],
    )
    def test_less_waste_and_the_same_work_pass(self, kind: str, before: str, after: str) -> None:
        assert dynamic_guards(kind, recorded(before).amounts, recorded(after).amounts) == PASSED

    @pytest.mark.parametrize(
        ("kind", "before", "after", "why"),
        [
            ("spread_atomics", "histogram_global", "histogram_shared", "the global atomics of the original"),
            ("no_barrier", "reduce_v2", "reduce_v3", "inst_executed is 0.81x"),
            ("no_barrier", "doubleLiteral", "floatLiteral", "double-precision operations of the original"),
        ],
    )
    def test_a_kernel_that_does_less_does_not(self, kind: str, before: str, after: str, why: str) -> None:
        found = dynamic_guards(kind, recorded(before).amounts, recorded(after).amounts)
        assert found.failed == "counters"
        assert why in found.why


class TestDropped:
    @pytest.mark.parametrize(
        ("lost", "says"),
        [
            ({"global_stores": 0.75}, "it stores 201,326,592 bytes, and its results have 268,435,456"),
            ({"dram_bytes_read": 0.5}, "of device memory, and needs 255,013,683"),
        ],
    )
    def test_results_that_are_not_stored_and_inputs_that_are_not_read(
        self, lost: Mapping[str, float], says: str
    ) -> None:
        before = recorded("transposeNaive")
        assert says in dropped(before, changed(before, **lost), arrays("transposeNaive"))

    def test_what_the_original_leaves_unread_or_unwritten_is_not_needed(self) -> None:
        before = recorded("transposeCoalesced")
        larger = Arrays(10 * arrays("transposeCoalesced").inputs, 10 * arrays("transposeCoalesced").outputs)
        assert dropped(before, before, larger) == ""
        assert "bytes of device memory, and needs" in dropped(before, changed(before, dram_bytes_read=0.4), larger)

    def test_no_more_is_needed_than_what_is_useful(self) -> None:
        before = recorded("load_broadcast")
        assert arrays("load_broadcast").inputs <= before.amounts["dram_bytes_read"]
        assert dropped(before, before, arrays("load_broadcast")) == ""

    def test_a_program_must_still_load_and_store(self) -> None:
        before = recorded("transposeCoalesced")
        assert dropped(before, changed(before, global_stores=0.1), None) == ""
        assert dropped(before, changed(before, global_stores=0), None) == "it executes no global stores"
        assert dropped(before, changed(before, global_loads=0), None) == "it executes no global loads"

    def test_what_was_not_counted_is_named(self) -> None:
        before = recorded("transposeCoalesced")
        partly = replace(before, amounts={name: 0.0 for name in before.amounts if name != "global stores"})
        assert uncounted(before, before) == ""
        assert uncounted(before, partly) == uncounted(partly, before) == "global stores"
        assert floor_ns(replace(before, amounts={}), arrays("transposeCoalesced")) == 0


def refused(_: str) -> None:
    """Counters cannot be read."""


class TestCounters:
    def test_a_version_is_counted_once_and_a_failure_stays(self) -> None:
        asked: list[str] = []

        def count(version: str) -> Counted:
            asked.append(version)
            if version == "bad":
                raise ReportEmpty("no launch")
            return Counted((), {})

        counters = Counters(refused, count, str)
        assert counters.count("good") is counters.count("good")
        for _ in range(2):
            with pytest.raises(ReportEmpty):
                counters.count("bad")
        assert asked == ["good", "bad"]

    def test_after_a_refusal_nothing_is_counted(self) -> None:
        asked: list[str] = []
        counters = Counters(refused, asked.append, str)
        assert (counters.count("one"), counters.count("other"), asked) == (None, None, ["one"])
        assert counters.count_both("one", "other") is None


# Kernel files

NAME = "transposeNaive"


DISASSEMBLED = KernelCode(NAME, NAME, "9.0", 40, 0, 0, 0, Code((), ()), ())


def bench_counting(folder: Path, count: Count) -> tuple[KernelFileBench, str]:
    small = build(find_kernel(NAME)).kernel
    return KernelFileBench(small, reload_of(small), folder, tools(process, count)), small.path.read_text()


def of_launch(kernel: Kernel, **amounts: float) -> Counted:
    """The counters of a launch that reads and stores each element once."""
    launch = launch_of(kernel)
    whole = arrays_of(launch)
    all_of_it = {"dram_bytes_read": float(whole.inputs), "global stores": float(whole.outputs)}
    nothing = dict.fromkeys(recorded(NAME).amounts, 0.0)
    return Counted(((kernel.function, launch.grid, launch.block),), {**nothing, **all_of_it, **amounts})


def of_version(count: Callable[[Kernel, bool], Counted | None]) -> Count:
    """Counts a version by its kernel and by whether it is the changed one."""
    return lambda version: count(version.kernel, "// changed" in version.kernel.path.read_text())


def checked(folder: Path, count: Callable[[Kernel, bool], Counted | None]) -> Verification:
    """The check of a change that changes nothing; ``count`` gets whether it counts the changed version."""
    bench, source = bench_counting(folder, of_version(count))
    edit = edit_between("Change nothing", source, f"{source}// changed\n")
    return bench.check(bench.build(source), bench.build(edit.edited), edit)


@needs_gpp
class TestKernelFiles:
    def test_equal_work_is_said(self, tmp_path: Path) -> None:
        found = checked(tmp_path, lambda kernel, _: of_launch(kernel))
        assert (found.verdict, found.passed[-1]) == ("verified", "its launch, stores and reads by counters")

    def test_without_counters_nothing_is_said_of_them(self, tmp_path: Path) -> None:
        found = checked(tmp_path, lambda *_: None)
        assert found.verdict == "verified"
        assert not [each for each in found.passed if "counters" in each]

    @pytest.mark.parametrize(
        ("amount", "says"), [("global stores", "it stores 9 bytes"), ("dram_bytes_read", "reads 9")]
    )
    def test_equal_results_with_less_work_are_refuted(self, tmp_path: Path, amount: str, says: str) -> None:
        found = checked(tmp_path, lambda kernel, after: of_launch(kernel, **({amount: 9.0} if after else {})))
        assert (found.verdict, found.check) == ("refuted", "work")
        assert says in found.reason

    def test_another_launch_is_refuted(self, tmp_path: Path) -> None:
        def other(kernel: Kernel, after: bool) -> Counted:
            found = of_launch(kernel)
            return replace(found, launches=(("other", (1, 1, 1), (1, 1, 1)),)) if after else found

        found = checked(tmp_path, other)
        assert (found.verdict, found.reason) == ("refuted", f"other was launched instead of {NAME}")

    def test_a_run_of_ncu_that_failed_is_no_pass(self, tmp_path: Path) -> None:
        def failing(kernel: Kernel, after: bool) -> Counted:
            if after:
                raise ReportEmpty("the profile holds no launch")
            return of_launch(kernel)

        found = checked(tmp_path, failing)
        assert (found.verdict, found.check) == ("unproven", "work")
        assert "the profile holds no launch" in found.reason

    @pytest.mark.parametrize("of_changed", [True, False])
    def test_work_that_was_not_counted_is_no_pass(self, tmp_path: Path, of_changed: bool) -> None:
        def partly(kernel: Kernel, after: bool) -> Counted:
            found = of_launch(kernel)
            without = {name: amount for name, amount in found.amounts.items() if name != "global stores"}
            return replace(found, amounts=without) if after == of_changed else found

        found = checked(tmp_path, partly)
        assert (found.verdict, found.check) == ("unproven", "work")
        assert found.reason == "its work was not counted: global stores is missing"

    def test_times_below_the_floor_are_impossible(self, tmp_path: Path) -> None:
        counted: list[Path] = []

        def slow(version: Build) -> Counted:
            counted.append(version.kernel.path)
            return of_launch(version.kernel, duration=1e9, dram_pct=90.0, dram_bytes_written=0.0)

        bench, source = bench_counting(tmp_path, slow)
        version, other = bench.build(source), bench.build(source)
        assert bench.time(version, version).outcome in {"same", "faster", "slower", "unclear"}
        assert counted == []  # against itself there is nothing to find impossible
        found = bench.time(version, other)
        assert counted == [version.kernel.path]
        assert found.outcome == "impossible"
        assert "less than the 855,000,000 ns that the hardware allows" in found.reason

    @pytest.mark.parametrize(("complete", "runs"), [(True, 0), (False, 2)])
    def test_a_version_that_is_judged_is_not_counted_again(self, tmp_path: Path, complete: bool, runs: int) -> None:
        counts: list[Path] = []
        judges: list[Path] = []

        def count(version: Build) -> Counted:
            counts.append(version.kernel.path)
            return of_launch(version.kernel)

        def judge(version: Build) -> Judged:
            judges.append(version.kernel.path)
            found = of_launch(version.kernel)
            known = {name: amount for name, amount in found.amounts.items() if complete or name != "duration"}
            return Judged(launch_with_advice(), replace(found, amounts=known))

        small = build(find_kernel(NAME)).kernel
        source = small.path.read_text()
        bench = KernelFileBench(small, reload_of(small), tmp_path, tools(process, count, judge))
        edit = edit_between("Change nothing", source, f"{source}// changed\n")
        before, after = bench.build(source), bench.build(edit.edited)
        bench.judge(before)
        bench.time(before, after)
        found = bench.check(before, after, edit)
        assert found.passed[-1] == "its launch, stores and reads by counters"
        assert bench.judge(after) is not None
        assert judges == [before.kernel.path, after.kernel.path]
        assert len(counts) == runs

    def test_a_version_whose_judging_fails_is_unproven(self, tmp_path: Path) -> None:
        def judge(version: Build) -> Judged:
            raise WrongResult("turn computes 3 wrong elements")

        small = build(find_kernel(NAME)).kernel
        source = small.path.read_text()
        counting = tools(process, lambda version: of_launch(version.kernel), judge)
        bench = KernelFileBench(small, reload_of(small), tmp_path, counting)
        edit = edit_between("Change nothing", source, f"{source}// changed\n")
        found = bench.check(bench.build(source), bench.build(edit.edited), edit)
        assert (found.verdict, found.check) == ("unproven", "work")
        assert "turn computes 3 wrong elements" in found.reason

    def test_a_version_is_examined_once(self, tmp_path: Path) -> None:
        asked: list[tuple[str, str]] = []

        def examined(tool: str, job: Mapping[str, Any]) -> Printed:
            (cubin,) = {launch["cubin"] for case in job["cases"] for launch in case["launches"].values()}
            asked.append((tool, cubin))
            return sanitizer(tool, job)

        small = build(find_kernel(NAME)).kernel
        bench = KernelFileBench(small, reload_of(small), tmp_path, replace(tools(process), sanitizer=examined))
        source = small.path.read_text()
        versions = [bench.build(f"{source}{more}") for more in ("", "// one\n", "// other\n")]
        for before, after in ((0, 1), (0, 2), (2, 1)):
            edit = edit_between("Change nothing", source, versions[after].kernel.path.read_text())
            assert bench.check(versions[before], versions[after], edit).verdict == "verified"
        cubins = [str(each.compiled.cubin) for each in versions]
        assert sorted(asked) == sorted((tool, cubin) for tool in TOOLS for cubin in cubins)

    def test_a_version_is_disassembled_once(self, tmp_path: Path) -> None:
        asked: list[Path] = []

        def code_of(made: Compiled, _: Kernel) -> KernelCode:
            asked.append(made.cubin)
            return DISASSEMBLED

        small = build(find_kernel(NAME)).kernel
        made = replace(tools(process), code_of=code_of)
        bench = KernelFileBench(small, reload_of(small), tmp_path, made)
        source = small.path.read_text()
        one, other = bench.build(source), bench.build(source)
        assert [bench.registers(each) for each in (one, other, one)] == [40, 40, 40]
        assert asked == [one.compiled.cubin, other.compiled.cubin]


# Ablations


@dataclass(frozen=True)
class Ablated:
    """A version of a kernel for ``bound_of``."""

    source: str


CONFLICTS = "transposeCoalesced"


def bound(folder: Path, count: Callable[[Ablated, bool], Counted | None], timed: Timing | None = None) -> Bound:
    """The bound of the bank conflicts of a transposition, whose ablation keeps all work in the machine code."""
    source = catalogue(f"transpose/{CONFLICTS}")

    def made(text: str) -> Ablated:
        if "__global__" not in text:
            raise NotBuilt("no kernel")
        return Ablated(text)

    line = next(at for at, text in enumerate(source.splitlines(), 1) if "odata[" in text)
    finding: Finding = replace(
        advice_finding(), rule=RuleId("SMEM001", "bank-conflict"), where=(SourceLine("k.cu", line, 1.0, ""),)
    )
    means = Means(
        made,
        lambda *_: timed or timing("faster", 2.2, 2.28, 2.3),
        lambda version: code(version.source, folder / str(hash(version)), CONFLICTS),
        lambda *_: True,
        lambda version: count(version, version.source != source),
    )
    found = bound_of(finding, Ablated(source), source, "k.cu", CONFLICTS, means)
    assert found is not None
    return found


class TestBounds:
    def test_an_ablation_with_all_of_its_work_is_a_bound(self, tmp_path: Path) -> None:
        found = bound(tmp_path, lambda *_: recorded(CONFLICTS))
        assert (found.bounds, found.not_believed) == ("at most", "")

    def test_an_ablation_that_executes_less_is_none(self, tmp_path: Path) -> None:
        def less(_: Ablated, ablated: bool) -> Counted:
            return changed(recorded(CONFLICTS), shared_loads=0.5) if ablated else recorded(CONFLICTS)

        found = bound(tmp_path, less)
        assert found.bounds == "nothing"
        assert found.not_believed == "threads executed 0.50x the shared loads of the original, less than 0.90x"

    @pytest.mark.parametrize(
        ("gain", "bounds"),
        [((2.2, 2.28, 2.3), "at least"), ((1.01, 1.02, 1.03), "nothing"), ((0.7, 0.8, 0.9), "nothing")],
    )
    def test_an_ablation_that_executes_more_bounds_from_below_and_withdraws_nothing(
        self, tmp_path: Path, gain: tuple[float, float, float], bounds: Bounds
    ) -> None:
        def more(_: Ablated, ablated: bool) -> Counted:
            return changed(recorded(CONFLICTS), inst_executed=1.82) if ablated else recorded(CONFLICTS)

        found = bound(tmp_path, more, timing("faster", *gain))
        assert (found.bounds, found.not_believed, found.withdrawn) == (bounds, "", "")
        assert found.more_work == "inst_executed is 1.82x of the original's, more than 1.50x"

    def test_where_counters_are_denied_code_alone_decides(self, tmp_path: Path) -> None:
        assert bound(tmp_path, lambda *_: None).bounds == "at most"

    def test_a_run_of_ncu_that_failed_is_no_pass(self, tmp_path: Path) -> None:
        def failing(_: Ablated, ablated: bool) -> Counted:
            if ablated:
                raise ReportEmpty("the profile holds no launch")
            return recorded(CONFLICTS)

        assert bound(tmp_path, failing).not_believed == "its work could not be counted: the profile holds no launch"

    def test_a_time_below_the_floor_is_not_believed(self, tmp_path: Path) -> None:
        impossible = timing("impossible", 40.0, 41.0, 42.0, reason="it takes less than the hardware allows")
        found = bound(tmp_path, lambda *_: recorded(CONFLICTS), impossible)
        assert found.not_believed == "it takes less than the hardware allows"


# This machine


def test_the_launch_is_counted_without_an_oracle_and_a_refusal_is_remarked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    kernel = find_kernel("transposeNaive")
    version = Build(kernel, Compiled(tmp_path / "k.cubin", kernel))

    def profiled(launches: list[object], metrics: object, *, compiled: Mapping[str, Compiled]) -> object:
        (launch,) = launches
        assert compiled == {"transposeNaive": version.compiled}
        asked.append((launch.kernel.text.oracle, launch.kernel.text.transfers, metrics))  # type: ignore[attr-defined]
        if len(asked) == 1:
            return recorded_profile("transpose")
        raise NcuRefused("no permission", id="NCU-PERM")

    monkeypatch.setattr(trials, "profile_launches", profiled)
    remarks: list[str] = []
    stages = Stages()
    count = trials.tools_for_files(tmp_path, remarks, stages).count
    found = count(version)
    assert found is not None
    assert found.amounts["global stores"] > 0
    assert remarks == []
    assert count(version) is None
    (said,) = remarks
    assert said.endswith("work is compared in machine code alone")
    assert asked == [(None, None, WORK)] * 2
    assert stages.seconds.keys() == {"counters", "all"}


def test_the_first_launch_of_a_programs_kernel_is_counted_in_its_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    whole = recorded_profile("transpose")
    profiles = iter([whole, replace(whole, failure=failure_of(NcuRefused("the program ended early", id="NCU-PART")))])

    def profiled(program: object, metrics: object, options: NcuOptions) -> tuple[Profile, None]:
        asked.append((program, metrics, options, Path.cwd()))
        return next(profiles), None

    monkeypatch.setattr(trials, "profile_program", profiled)
    here, remarks = Path.cwd(), list[str]()
    count = trials._tools_for_programs(tmp_path / "no-library.so", remarks, Stages(), 1, lambda: 60.0).count
    found = count(tmp_path, ("./app", "3"), "turn")
    assert found is not None
    assert found.amounts["global loads"] > 0
    assert asked == [(("./app", "3"), WORK, NcuOptions(kernel_name="turn", launch_count=1), tmp_path)]
    with pytest.raises(Incomplete, match="the program ended early"):
        count(tmp_path, ("./app", "3"), "turn")
    assert remarks == []
    assert Path.cwd() == here
