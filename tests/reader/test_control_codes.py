"""Control codes from the modules in reports, and what they must agree with on all recorded kernels."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ncuview.metrics.instruction_table import executed_by_launch
from ncuview.reader.control_codes import with_control_codes
from ncuview.sass.cfg import control_flow
from ncuview.sass.code import Code
from ncuview.sass.dataflow import Chains, Effect, chains, last_touches
from ncuview.sass.waiting import scoreboards
from tests.profiles import RECORDED, profile_of
from tests.together import together

_ALL = tuple(f"SB{number}" for number in range(6))


def check_scoreboards(report: Path) -> None:
    """An instruction waits for the scoreboard of each result that it uses.

    Unless every path from the one to the other has waited for it. A call waits too, so functions are apart.
    """
    profile = with_control_codes(profile_of(report))
    found = {*profile.control_codes}
    assert found == {*profile.instructions["launch"].unique()}
    codes = {executed.code for launch, executed in executed_by_launch(profile).items() if launch in found}
    checked = 0
    for code in codes:
        held, touched, flow = pending(code), last_touches(code), control_flow(code)
        for position, each in enumerate(code.instructions):
            waits = scoreboards(code.controls[position]).waits
            for name in each.uses:
                for at in touched[position].get(name, ()):
                    write = scoreboards(code.controls[at]).write
                    if write is not None and name in code.instructions[at].definitions:
                        checked += 1
                        was_waited_for = write in waits or at not in held[position][f"SB{write}"]
                        assert was_waited_for or flow.block_of[position] not in flow.reachable(flow.block_of[at]), (
                            code.texts[position],
                            at,
                        )
    assert checked > len(codes)


def pending(code: Code) -> Chains:
    """For each instruction and scoreboard those that set it since the last wait, whether it waits or not.

    ``DEPBAR.LE SB5, 0x1`` waits for all but the last of what returns in order, as texture loads do.
    """
    found = []
    for position, each in enumerate(map(scoreboards, code.controls)):
        instruction = code.instructions[position]
        waits, sets = {f"SB{number}" for number in each.waits}, {f"SB{each.write}"} & {*_ALL}
        if instruction.base_opcode == "DEPBAR":
            waits |= {*_ALL}.intersection(instruction.operands)
        found.append(Effect(_ALL, tuple(waits | sets), keeps=frozenset(sets - waits)))
    return chains(code, found)


SOME = [report for report in RECORDED if report.parent.name in {"reduction", "sobel"}]
"""Sobel has kernels whose names and guards are the same; the others are nightly."""


@together("report", SOME, name=lambda report: report.parent.name)
def test_an_instruction_waits_for_the_scoreboard_of_the_result_that_it_uses(report: Path) -> None:
    """Of every launch."""
    check_scoreboards(report)


def test_code_of_another_kernel_has_no_control_codes() -> None:
    """The guards of the printed instructions are not those of the module."""
    profile = profile_of(RECORDED[0])
    moved = profile.instructions.assign(
        sass="@P5 " + profile.instructions["sass"].str.replace(r"^@\S+\s+", "", regex=True)
    )
    assert with_control_codes(replace(profile, instructions=moved)).control_codes == {}


def test_a_report_that_no_longer_exists_has_no_control_codes(tmp_path: Path) -> None:
    """The profile stays as it is."""
    profile = profile_of(RECORDED[0])
    gone = tuple(replace(each, path=str(tmp_path / "gone.ncu-rep")) for each in profile.reports)
    launches = profile.launches.assign(report=gone[0].path)
    assert with_control_codes(replace(profile, reports=gone, launches=launches)).control_codes == {}
