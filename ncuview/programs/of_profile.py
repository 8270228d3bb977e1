"""``program_of``: the launches of a ``Profile`` as a program: its calls by time, what to change, and its processes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from math import fsum, isfinite, nan
from typing import TYPE_CHECKING

from ncuview.programs.advise import BETWEEN, advise
from ncuview.programs.calls import call_of, is_users
from ncuview.programs.forward import forward_frames
from ncuview.programs.lines import by_line
from ncuview.programs.processes import processes_of, shared
from ncuview.records.profile import CallStack
from ncuview.records.program import (
    REST,
    Call,
    CallTime,
    ChangeAt,
    KernelTrace,
    ProgramDiagnosis,
    ProgramFinding,
    ProgramGpu,
    ProgramLaunch,
)

if TYPE_CHECKING:
    from ncuview.base.patterns import Pattern
    from ncuview.programs.owners import Owner
    from ncuview.records.profile import Profile

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

    @cache
    def found(stack: CallStack, ranges: tuple[str, ...], kernel: str) -> Call | None:
        return call_of(stack, is_mine, ranges, kernel)

    stacks, ranges = profile.call_stacks, profile.nvtx_ranges
    kernels = enumerate(profile.launches["kernel"].tolist())
    calls = [found(stacks.get(launch, CallStack()), ranges.get(launch, ()), kernel) for launch, kernel in kernels]
    if profile.nvtx_ranges:
        runs = [run.index.tolist() for _, run in profile.launches.groupby("report", sort=False)]
        for launch, frame in forward_frames(calls, profile.nvtx_ranges, runs).items():
            calls[launch] = replace(calls[launch] or Call("", 0, ""), forward=frame)
    return calls


def program_of(
    profile: Profile,
    owners: Sequence[Owner],
    calls: Sequence[Call | None],
    gpu: ProgramGpu | None = None,
    trace: KernelTrace | None = None,
) -> ProgramDiagnosis | None:
    """The diagnosis of a program of which all launches were profiled; None where no call is known in it.

    The sequence of each process is judged alone; threads whose process is unknown have none. Launches that wait for
    peers are left out, because their time under ncu means nothing.

    Args:
        profile: The launches.
        owners: Whose code each is.
        calls: What called each.
        gpu: The figures of their GPU; None for those of a GPU without a table.
        trace: The times between the kernels of the same program without ncu; used where one process launched them.
    """
    if not any(calls):
        return None
    launches = list(launches_of(profile, owners, calls))
    processes = processes_of(profile)
    between = trace if len(processes) == 1 else None
    counted = [[place for place in of.launches if not owners[place].waits_for_peers] for of in processes]
    found = [
        (of, () if of.process.name == REST else _findings(launches, places, between, gpu))
        for of, places in zip(processes, counted, strict=True)
    ]
    known = [
        (number, launches[place])
        for number, places in enumerate(counted)
        for place in places
        if isfinite(launches[place].duration_ns)
    ]
    total = fsum(launch.duration_ns for _, launch in known)
    several = len(processes) > 1
    times = (
        CallTime(
            line.call,
            len(line.launches),
            line.time_ns,
            line.time_ns / total if total else 0.0,
            line.times_ns if several else (),
        )
        for line in by_line(known, len(processes))
    )
    return ProgramDiagnosis(
        total,
        len(launches),
        tuple(times),
        shared(found) if several else found[0][1],
        tuple(of.process for of in processes) if several else (),
    )


def _findings(
    launches: Sequence[ProgramLaunch], places: Sequence[int], trace: KernelTrace | None, gpu: ProgramGpu | None
) -> tuple[ProgramFinding, ...]:
    """The findings of one process; empty where its sequence of launches has a launch of unknown duration.

    Args:
        launches: Those of all processes.
        places: The positions of this process's among them; the findings name their launches by these.
        trace: The times between its kernels.
        gpu: The figures of its GPU.
    """
    own = [launches[place] for place in places]
    if not all(isfinite(launch.duration_ns) for launch in own):
        return ()
    found = advise(own, trace, gpu)
    return tuple(replace(each, launches=tuple(places[number] for number in each.launches)) for each in found)


def changes_of(program: ProgramDiagnosis) -> dict[int, ChangeAt]:
    """The finding that shortens each launch, with its first call; the time between launches is no launch's."""
    return {
        launch: ChangeAt(finding.code, finding.calls[0].file, finding.calls[0].line)
        for finding in program.findings
        if finding.change not in BETWEEN
        for launch in finding.launches
    }


def launches_of(profile: Profile, owners: Sequence[Owner], calls: Sequence[Call | None]) -> Iterator[ProgramLaunch]:
    """The launches of a profile, with their owners and calls, as the rules over sequences of launches read them."""

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
