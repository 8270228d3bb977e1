"""Kernels of other owners get no advice, and warp-specialised kernels none about occupancy and barriers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncuview.base.paths import shipped
from ncuview.base.patterns import compiled
from ncuview.engine.first_look import second_look
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import shipped_rules
from ncuview.metrics.analysis import Analysis
from ncuview.pipeline.profiled import read_with_sources
from ncuview.records.diagnosis import Finding, NotApplicable
from ncuview.records.profile import CallStack, Frame, Profile

STAND_DOWN = {
    "OCC001",
    "OCC002",
    "OCC005",
    "OCC006",
    "LMEM001",
    "SYNC001",
    "SYNC002",
    "SYNC003",
    "SYNC004",
    "WORK003",
}


@pytest.mark.parametrize(
    ("name", "kind", "owner", "reason"),
    [
        ("nvjet_sm90_tst_256x128", "vendor", "cuBLAS", "part of cuBLAS, whose code only its vendor can change"),
        ("void cub::Reduce<int>(T1)", "framework", "CUB", "part of CUB: the call can be changed, not the kernel"),
        ("input_reduce_fusion", "generated", "XLA", "written by XLA from code that can be changed"),
    ],
)
def test_a_kernel_of_another_owner_gets_no_advice_whatever_rules_find(
    name: str, kind: str, owner: str, reason: str
) -> None:
    profile = read_with_sources([shipped("kernels") / "transpose" / "h200.ncu-repz"], "transposeCoalesced")
    ours = diagnose(profile, shipped_rules()).launches[0]
    assert (ours.verdict, ours.owner_kind, ours.owner) == ("advice", "yours", "")
    theirs = diagnose(_of_another(profile, name), shipped_rules()).launches[0]
    assert (theirs.verdict, theirs.owner_kind, theirs.owner, theirs.findings) == ("not-yours", kind, owner, ())
    rejected = [outcome for outcome in theirs.outcomes if isinstance(outcome, Finding)]
    assert rejected
    assert {each.rejected for each in rejected} == {f"the kernel is {reason}"}


def _of_another(profile: Profile, name: str) -> Profile:
    """The profile as if the kernel had this name and nothing but headers of CUDA in its line table."""
    instructions = profile.instructions.assign(file="/usr/local/cuda/include/cuda_fp16.hpp")
    return replace(
        profile,
        launches=profile.launches.assign(demangled=name),
        instructions=instructions,
        call_sites={},
    )


def test_the_users_file_in_the_line_table_outweighs_a_vendors_name() -> None:
    profile = read_with_sources([shipped("kernels") / "transpose" / "h200.ncu-repz"], "transposeCoalesced")
    renamed = replace(profile, launches=profile.launches.assign(demangled="nvjet_sm90_tst_256x128"))
    assert diagnose(renamed, shipped_rules()).launches[0].verdict == "advice"


def test_the_call_stack_shows_the_owner_of_a_kernel_without_lines() -> None:
    profile = read_with_sources([shipped("kernels") / "transpose" / "h200.ncu-repz"], "transposeCoalesced")
    stack = CallStack((), (Frame("", "/opt/lib/libcudnn_graph.so.9", 0),))
    launched = replace(_of_another(profile, "transpose(float *)"), call_stacks={0: stack})
    assert diagnose(launched, shipped_rules()).launches[0].owner == "cuDNN"


def test_a_pattern_of_the_user_makes_a_kernel_theirs_in_both_looks() -> None:
    profile = read_with_sources([shipped("kernels") / "transpose" / "h200.ncu-repz"], "transposeCoalesced")
    theirs, rules = _of_another(profile, "void cub::Reduce<int>(T1)"), shipped_rules()
    mine = [compiled("^void cub::Reduce")]
    assert not second_look(theirs, rules).launches
    assert second_look(theirs, rules, mine=mine).launches
    assert diagnose(theirs, rules, mine=mine).launches[0].verdict == "advice"


@pytest.mark.parametrize(
    "instruction",
    [
        "UTMALDG.2D [UR8], [UR4], desc[UR6] ;",
        "SYNCS.EXCH.64 URZ, [UR4], UR6 ;",
        "USETMAXREG.DEALLOC.CTAPOOL 0x28 ;",
        "@P0 HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24 ;",
        "UBLKCP.S.G [UR4], [UR6], UR8 ;",
    ],
)
def test_rules_on_occupancy_and_barriers_stand_down_on_warp_specialised_kernels(instruction: str) -> None:
    profile = read_with_sources([shipped("kernels") / "reduction" / "h200.ncu-repz"], "reduce_v1")
    assert set(Analysis(profile).value("warp_specialised")) == {0.0}
    sass = profile.instructions["sass"].to_list()
    sass[0] = instruction
    changed = replace(profile, instructions=profile.instructions.assign(sass=sass))
    assert Analysis(changed).value("warp_specialised")[0] == 1.0
    outcomes = {outcome.rule.code: outcome for outcome in diagnose(changed, shipped_rules()).launches[0].outcomes}
    assert {code for code in STAND_DOWN if isinstance(outcomes[code], NotApplicable)} == STAND_DOWN


def test_without_machine_code_a_kernel_is_not_taken_for_a_specialised_one() -> None:
    profile = read_with_sources([shipped("kernels") / "reduction" / "h200.ncu-repz"], "reduce_v1")
    blind = replace(profile, instructions=profile.instructions.iloc[:0])
    assert set(Analysis(blind).value("warp_specialised")) == {0.0}
