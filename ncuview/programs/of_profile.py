"""``program_of``: the launches of a ``Profile`` as a program: its calls by time, and what to change at which call."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import fsum, isfinite, nan
from typing import TYPE_CHECKING

from ncuview.programs.advise import BETWEEN, advise
from ncuview.programs.calls import call_of, is_users
from ncuview.records.program import Call, CallTime, ChangeAt, ProgramDiagnosis, ProgramGpu, ProgramLaunch

if TYPE_CHECKING:
    from ncuview.base.patterns import Pattern
    from ncuview.programs.owners import Owner
    from ncuview.records.profile import CallStack, Profile

_PACKAGE = re.compile(r"/(?:site|dist)-packages/(triton|numba|cupy|jax)")
_READ, _WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
_FMA = "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed"
_TENSOR = "sm__pipe_shared_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed"


def calls_of(profile: Profile, mine: Sequence[Pattern] = ()) -> list[Call | None]:
    """The call of each launch; None where its stack is unknown or has none of the user's.

    Args:
        profile: The launches.
        mine: Files that match one of these patterns are the user's, such as those of an installed package.
    """

    def is_mine(file: str) -> bool:
        return is_users(file) or any(pattern.found_in(file) for pattern in mine)

    found = {stack: call_of(stack, is_mine) for stack in set(profile.call_stacks.values())}
    stacks = (profile.call_stacks.get(launch) for launch in range(len(profile.launches)))
    return [found[stack] if stack else None for stack in stacks]


def program_of(
    profile: Profile, owners: Sequence[Owner], calls: Sequence[Call | None], gpu: ProgramGpu | None = None
) -> ProgramDiagnosis | None:
    """The diagnosis of a program of which all launches were profiled; None where no call is known in it.

    Launches that wait for peers are left out, because their time under ncu means nothing.

    Args:
        profile: The launches.
        owners: Whose code each is.
        calls: What called each.
        gpu: The figures of their GPU; None for those of a GPU without a table.
    """
    if not any(calls):
        return None
    launches = list(_launches(profile, owners, calls))
    timed = [number for number, owner in enumerate(owners) if not owner.waits_for_peers]
    counted = [launches[number] for number in timed]
    known = [launch for launch in counted if isfinite(launch.duration_ns)]
    total = fsum(launch.duration_ns for launch in known)
    findings = advise(counted, gpu=gpu) if len(known) == len(counted) else ()
    of_profile = (replace(each, launches=tuple(timed[number] for number in each.launches)) for each in findings)
    return ProgramDiagnosis(total, len(launches), tuple(_by_line(known, total)), tuple(of_profile))


def changes_of(program: ProgramDiagnosis) -> dict[int, ChangeAt]:
    """The finding that shortens each launch, with its first call; the time between launches is no launch's."""
    return {
        launch: ChangeAt(finding.code, finding.calls[0].file, finding.calls[0].line)
        for finding in program.findings
        if finding.change not in BETWEEN
        for launch in finding.launches
    }


def _launches(profile: Profile, owners: Sequence[Owner], calls: Sequence[Call | None]) -> Iterator[ProgramLaunch]:
    def column(metric: str) -> list[float]:
        return profile.metrics[metric].tolist() if metric in profile.metrics else [nan] * len(profile.launches)

    rows = profile.launches.to_dict("records")
    numbers = zip(column(_READ), column(_WRITTEN), column(_FMA), column(_TENSOR), strict=True)
    parts = zip(rows, owners, calls, numbers, strict=True)
    for place, (row, owner, call, (read, written, fma, tensor)) in enumerate(parts):
        yield ProgramLaunch(
            kernel=row["kernel"],
            demangled=row["demangled"],
            grid=(row["grid_x"], row["grid_y"], row["grid_z"]),
            block=(row["block_x"], row["block_y"], row["block_z"]),
            duration_ns=row["duration_ns"],
            bytes_read=read,
            bytes_written=written,
            fma_pct=fma,
            tensor_pct=tensor,
            owner_kind=owner.kind,
            owner=owner.name or _launcher(profile.call_stacks.get(place)),
            call=call,
        )


def _launcher(stack: CallStack | None) -> str:
    """The package that launches a kernel of the user, such as ``triton``; empty where it is none of Python."""
    packages = (_PACKAGE.search(frame.file.replace("\\", "/")) for frame in (stack.python if stack else ()))
    return next((found[1] for found in packages if found), "")


def _by_line(launches: Sequence[ProgramLaunch], total: float) -> Iterator[CallTime]:
    """The launches of each line of the user, the costliest line first."""
    lines: dict[tuple[str, int, str, bool], list[ProgramLaunch]] = defaultdict(list)
    for launch in launches:
        if launch.call:
            call = launch.call
            lines[call.file, call.line, call.function or call.operator, bool(call.backward)].append(launch)
    times = {key: fsum(launch.duration_ns for launch in found) for key, found in lines.items()}
    for key in sorted(times, key=lambda key: -times[key]):
        costliest = max(lines[key], key=lambda launch: launch.duration_ns)
        assert costliest.call  # noqa: S101  (only launches with a call are grouped)
        yield CallTime(costliest.call, len(lines[key]), times[key], times[key] / total if total else 0.0)
