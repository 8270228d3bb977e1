"""The processes of a profile: which launches each made, what each is called, and findings that several share.

``processes_of`` takes a ``Profile``; ``shared`` takes the findings of each process.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count
from math import fsum, isfinite
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

from ncuview.base.report_files import rank_of
from ncuview.records.program import REST, Estimate, Process, ProgramFinding

if TYPE_CHECKING:
    from ncuview.records.profile import CallStack, Profile

_WORKER = "torch/utils/data/_utils/worker.py"
"""PyTorch's file whose functions run a data-loader worker."""


class OfProcess(NamedTuple):
    """A process and the positions of its launches in the profile."""

    process: Process
    launches: list[int]


def processes_of(profile: Profile) -> list[OfProcess]:
    """The processes in the order of their first launches.

    ncu's reports hold no environment, so that the rank of a process is known where a report of one process has it in
    its name; other processes are numbered.
    """
    launches: defaultdict[tuple[str, int, str], list[int]] = defaultdict(list)
    columns = (profile.launches[name].tolist() for name in ("report", "process", "process_name"))
    for place, key in enumerate(zip(*columns, strict=True)):
        launches[key].append(place)
    durations = profile.launches["duration_ns"].tolist()
    times = [fsum(durations[place] for place in of if isfinite(durations[place])) for of in launches.values()]
    total = fsum(times)
    known = {report for report, number, _ in launches if number}
    parts = [_Part(key[0], _is_worker(profile, of), not key[1] and key[0] in known) for key, of in launches.items()]
    names = _names(parts)
    return [
        OfProcess(Process(name, number, program, report, len(of), time, time / total if total else 0.0), of)
        for name, ((report, number, program), of), time in zip(names, launches.items(), times, strict=True)
    ]


class _Part(NamedTuple):
    """What launches of one process have in common, as far as it gives them a name."""

    report: str
    is_worker: bool
    is_rest: bool
    """Of a report that names several processes, the launches of threads whose process it does not tell."""


def _is_worker(profile: Profile, launches: Iterable[int]) -> bool:
    stacks = {profile.call_stacks[place] for place in launches if place in profile.call_stacks}
    return any(map(_of_worker, stacks))


def _of_worker(stack: CallStack) -> bool:
    return any(frame.file.replace("\\", "/").endswith(_WORKER) for frame in stack.python)


def _names(processes: Sequence[_Part]) -> list[str]:
    """A distinct name for each process, from its report and whether it is a data-loader worker."""
    mains = Counter(each.report for each in processes if not each.is_worker and not each.is_rest)
    several = len(mains) > 1
    named = {report: _named_by(report, several=several) for report in mains if mains[report] == 1}
    often = Counter(named.values())
    total = sum(mains.values())
    workers, others, names = count(1), count(1), []
    for report, is_worker, is_rest in processes:
        if is_rest:
            names.append(REST)
            continue
        number = next(workers if is_worker else others)
        if is_worker:
            names.append(f"data-loader worker {number}")
        else:
            own = named.get(report, "")
            numbered = f"process {number} of {total}" if total > 1 else "main process"
            names.append(own if own and often[own] == 1 else numbered)
    return names


def _named_by(report: str, *, several: bool) -> str:
    """The rank in a report's name; without one, its file name where there are several reports."""
    name = PurePath(report).name
    rank = rank_of(name)
    return rank.words if rank else name if several else ""


def shared(found: Sequence[tuple[OfProcess, Sequence[ProgramFinding]]]) -> tuple[ProgramFinding, ...]:
    """The findings of all processes, those that agree on change and lines as one; the one that saves most first."""
    agreeing: defaultdict[tuple[object, ...], list[tuple[OfProcess, ProgramFinding]]] = defaultdict(list)
    for of, findings in found:
        for finding in findings:
            lines = frozenset((call.file, call.line, call.function) for call in finding.calls)
            agreeing[finding.code, finding.advice, lines].append((of, finding))
    return tuple(sorted(map(_as_one, agreeing.values()), key=lambda finding: -finding.saved_ns.best))


def _as_one(found: Sequence[tuple[OfProcess, ProgramFinding]]) -> ProgramFinding:
    """The finding of the process in which it saves most, with the launches and savings of all."""
    most, example = max(found, key=lambda each: each[1].saved_ns.best)
    time = fsum(of.process.time_ns for of, _ in found)
    saved = Estimate(*(fsum(finding.saved_ns[bound] for _, finding in found) for bound in range(3)))
    where = f"in {most.process.name}"
    if len(found) > 1:
        where = f"in {len(found)} processes, most in {most.process.name}, where"
    return replace(
        example,
        launches=tuple(sorted(number for _, finding in found for number in finding.launches)),
        saved_ns=saved,
        gain=Estimate(*(time / (time - bound) for bound in saved)),
        message=f"{where} {example.message}",
        processes=tuple(of.process.name for of, _ in found),
    )
