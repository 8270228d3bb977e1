"""A diagnosis and a ladder made by hand: everything that a renderer must show, with numbers that never change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from ncuview.records.diagnosis import (
    Awaited,
    Broken,
    Citation,
    CodeLine,
    Diagnosis,
    Evidence,
    Finding,
    Fix,
    Gain,
    HotInstruction,
    LaunchDiagnosis,
    NotApplicable,
    Passed,
    RuleId,
    Skipped,
    SourceLine,
    TextbookMetric,
)
from ncuview.records.ladder import Ladder, LadderStep, TextbookStep
from ncuview.records.profile import CallSite, Device, ReportInfo

CHECKOUT = Path(__file__).parent / "checkout"
"""A folder with the files that the sample names."""

_DEVICE = Device("NVIDIA H200", "9.0")
_REPORT = ReportInfo("runs/transpose.ncu-rep", "2025.3.1", datetime(2026, 11, 21, 9, 28, 8, tzinfo=UTC))
_BEFORE = "__shared__ float tile[32][32];\nint x = threadIdx.x;\n"
_AFTER = "__shared__ float tile[32][32 + 1];\nint x = threadIdx.x;\n"


def column_read() -> SourceLine:
    """A line of the kernel itself, with its source."""
    code = "odata[i] =\ttile[threadIdx.x][threadIdx.y + j];"
    around = (
        CodeLine(62, "    for (int j = 0; j < 32; j += 8)"),
        CodeLine(63, f"        {code}"),
        CodeLine(64, "}"),
    )
    return SourceLine("transpose/coalesced.cu", 63, 0.9, code, around)


def inlined_helper() -> SourceLine:
    """A line of an inlined function whose source is not there."""
    calls = (CallSite("transpose/coalesced.cu", 60, "tile[y][x] = staged(idata, i);"),)
    return SourceLine(
        "transpose/staged.h", 12, 0.1, "", inlined=True, called_from=calls, remark="staged.h has changed since"
    )


def advice_finding() -> Finding:
    """What to do first."""
    return Finding(
        rule=RuleId("SMEM001", "shared-bank-conflict"),
        optimization="shared_memory_padding",
        message="Up to 32-way bank conflicts: 65,011,712 of 69,206,016 shared-memory wavefronts are replays",
        predicted_speedup=Gain(1.94, 2.18, 2.29),
        bottleneck_after="dram",
        check="memory_l1_wavefronts_shared over its ideal falls from 16.5 to 1.0",
        assumes="every shared-memory access becomes free of conflicts",
        evidence=(Evidence("ways", 16.5, "wavefronts per ideal wavefront", ("memory_l1_wavefronts_shared",)),),
        where=(column_read(), inlined_helper()),
        cite=(Citation("CUDA Optimization with Parallel Transpose (Lee, Yoo)", "Shared memory", "pad the tile"),),
        fix=Fix("Pad the tile by one column", _BEFORE, "kernels/a.cu#tile", _AFTER, "kernels/b.cu#tile"),
        waits_for=(awaited_load(),),
    )


def awaited_load() -> Awaited:
    """What most samples wait for."""
    return Awaited(
        reason="short_scoreboard",
        opcode="LDS",
        address=0x1A0,
        sass="LDS R9, [R4]",
        file="/src/transpose.cu",
        line=41,
        code="odata[yout * width + xout] = tile[threadIdx.x][threadIdx.y];",
        share=0.625,
    )


def second_finding() -> Finding:
    """Worth doing too, but not first."""
    return replace(
        advice_finding(),
        rule=RuleId("PAR001", "little-work-per-thread"),
        optimization="thread_coarsening",
        message="Each thread moves 4 bytes",
        predicted_speedup=Gain(1.05, 1.20, 1.30),
        where=(),
        instructions=(HotInstruction(0x2A0, "LDG.E R9, desc[UR6][R4.64]", 0.625),),
        lines_wanted="no source line is known of it",
    )


def rejected_finding() -> Finding:
    """There is waste, and removing it would gain nothing."""
    return replace(
        advice_finding(),
        rule=RuleId("SYNC001", "barrier-stall"),
        optimization="fewer_barriers",
        message="Warps wait at barriers for 31% of their time",
        predicted_speedup=Gain(1.0, 1.01, 1.02),
        rejected="not the bottleneck: l1_data at 88% of its peak is",
    )


def launch_with_advice() -> LaunchDiagnosis:
    """One next step, another worth doing, one rejected, one passed, one without a subject."""
    return LaunchDiagnosis(
        report=_REPORT.path,
        index=0,
        kernel="transposeCoalesced",
        demangled="transposeCoalesced(float *, const float *, int)",
        grid=(256, 256, 1),
        block=(32, 8, 1),
        duration_ns=328_320.0,
        device=_DEVICE,
        origin="recorded",
        bottleneck="l1_data",
        units={"dram": 0.33, "l2": 0.22, "l1_data": 0.88, "xu": 0.0},
        attained=0.95,
        verdict="advice",
        metrics={
            "effective_bandwidth": TextbookMetric(1.635e12, "byte/s", "useful bytes / gpu__time_duration.sum"),
            "achieved_occupancy": TextbookMetric(0.94, "ratio 0-1", "sm__warps_active.avg"),
        },
        outcomes=(
            advice_finding(),
            second_finding(),
            rejected_finding(),
            Passed(RuleId("GMEM001", "uncoalesced-global-load"), "1.00 sectors for each one needed"),
            NotApplicable(RuleId("FLOW001", "divergent-branch"), "The kernel has no branch."),
        ),
    )


def launch_near_peak() -> LaunchDiagnosis:
    """Nothing left to gain."""
    return replace(
        launch_with_advice(),
        index=1,
        kernel="transposeNoBankConflicts",
        demangled="transposeNoBankConflicts(float *, const float *, int)",
        duration_ns=141_800.0,
        bottleneck="dram",
        units={"dram": 0.76, "l2": 0.45, "l1_data": 0.31},
        attained=0.97,
        verdict="near-peak",
        outcomes=(Passed(RuleId("SMEM001", "shared-bank-conflict"), "no bank conflicts worth removing"),),
    )


def launch_unclear() -> LaunchDiagnosis:
    """Rules could not judge it: metrics are missing, and one rule broke."""
    return replace(
        launch_with_advice(),
        index=2,
        kernel="latencyBound",
        demangled="void latencyBound<(int)4>(T1 *) [with T1 = float]",
        grid=(1, 1, 1),
        duration_ns=2_500.0,
        bottleneck="latency",
        units={"dram": 0.02},
        attained=0.02,
        verdict="unclear",
        metrics={},
        outcomes=(
            Skipped(
                RuleId("SMEM001", "shared-bank-conflict"),
                "it cannot be judged: not collected. Collect with: ncu --metrics memory_l1_wavefronts_shared",
                ("memory_l1_wavefronts_shared",),
            ),
            Broken(RuleId("USER001", "of-the-user"), "rules/mine/of-the-user.toml: share is not a number"),
            Passed(RuleId("GMEM001", "uncoalesced-global-load"), "4.0 sectors per request"),
            Passed(RuleId("GMEM002", "uncoalesced-global-store"), "4.0 sectors per request"),
        ),
    )


def diagnosis() -> Diagnosis:
    """One launch of each verdict."""
    launches = (launch_with_advice(), launch_near_peak(), launch_unclear())
    return Diagnosis(launches, (_REPORT,), "as asked for with --recorded")


def ladder() -> Ladder:
    """Two steps of a ladder, with predicted and measured gain."""
    return Ladder(
        family="transpose",
        steps=(
            LadderStep(
                kernel="transposeCoalesced",
                number=4,
                diagnosis=launch_with_advice(),
                useful_rate=1635.2,
                rate_unit="GB/s",
                reported="97.6 GB/s, Tesla K20c",
                better="transposeNoBankConflicts",
                better_sizes={"n": 8192},
                measured_speedup=2.32,
                textbook_steps=(TextbookStep("transposeNoBankConflicts", "shared_memory_padding", 2.32, ""),),
            ),
            LadderStep(
                "transposeNoBankConflicts",
                5,
                launch_near_peak(),
                3786.0,
                "GB/s",
                "",
                "",
                {},
                None,
                (TextbookStep("transposeCoalesced", "diagonal_mapping", 0.97, "The slices are balanced."),),
            ),
        ),
        reports=(_REPORT,),
        remark="as asked for with --recorded",
    )
