"""How often a gate fails without a change, and how often it catches one: trials on repeats of real kernels.

    python benchmarks/gate_trials.py --record benchmarks/gate/h200.json     # needs a GPU, ncu, nvcc and PyCUDA
    python benchmarks/gate_trials.py benchmarks/gate/h200.json              # prints the tables of gate/README.md
    python benchmarks/gate_trials.py                                        # the same on made-up repeats

Recorded are RUNS runs of ncu, in each of which every kernel is launched LAUNCHES times. A trial draws two sides from
them, without replacement: the launches of one run against those of another, or one launch from each of five runs
against one from each of five others, in turn. One side becomes a baseline, the other is held against it. In an A/A
trial nothing else happens; in others all times of the second side are longer by a share, or its launches are those of
another kernel of the catalogue, which does the same work with bank conflicts or uncoalesced.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from ncuview.api import diagnose, load_rules, read
from ncuview.catalogue.kernels import Launch, find_kernel, launch_of, recorded_report
from ncuview.catalogue.live import profile_live
from ncuview.engine.plan import metrics_for
from ncuview.gate.baseline import baseline_of
from ncuview.gate.baseline_checks import COUNTERS
from ncuview.gate.budget import BaselineLimits, Budget
from ncuview.gate.judge import judge
from ncuview.gate.spread import Spreads
from ncuview.metrics.textbook import definitions, metric_names
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis, TextbookMetric
from ncuview.records.gate import Check
from ncuview.records.profile import Device, Profile, ReportInfo

RUNS, LAUNCHES, TRIALS, SEED = 10, 5, 200, 2026
KERNELS: tuple[tuple[str, Mapping[str, int]], ...] = (
    ("transposeNaive", {"n": 4096}),
    ("transposeCoalesced", {"n": 4096}),
    ("transposeNoBankConflicts", {"n": 4096}),
    ("transposeNoBankConflicts", {}),
    ("load_aligned", {}),
    ("load_strided[stride=8]", {}),
    ("histogram_shared", {}),
    ("divergentWithinWarp", {}),
    ("reduce_shuffle[n=32768]", {}),
    ("emptyKernel", {}),
)
"""Kernels and sizes: from 2 us to 0.3 ms, and one with atomics."""
REGRESSIONS = (
    ("bank conflicts", "transposeNoBankConflicts", "transposeCoalesced"),
    ("uncoalesced stores", "transposeCoalesced", "transposeNaive"),
    ("both", "transposeNoBankConflicts", "transposeNaive"),
)
"""What goes wrong: a kernel, and the one with the same grid and block whose launches take its place."""
SLOWER = (0.05, 0.10, 0.20)
LONG_NS = 20_000.0
"""Below this time 5 % are less than the floor of 1 us, and 10 % may be."""

_PROFILE = Profile((), pd.DataFrame({"report": [], "index": []}), pd.DataFrame(), {}, pd.DataFrame(), {})
_KNOWN = ReportInfo("made", "2025.3.1", None)


@dataclass(frozen=True)
class Repeats:
    """All launches of one kernel and configuration, by run."""

    example: LaunchDiagnosis
    times_ns: tuple[tuple[float, ...], ...]
    values: Mapping[str, tuple[tuple[float, ...], ...]]
    """Textbook metric -> its values, in the order of the times."""

    def launch(self, run: int, at: int) -> LaunchDiagnosis:
        """One of the launches."""
        metrics = {
            name: replace(self.example.metrics[name], value=values[run][at]) for name, values in self.values.items()
        }
        return replace(self.example, duration_ns=self.times_ns[run][at], metrics=metrics)


# Recording


def record(target: Path) -> None:
    """Profile all kernels in each run, and keep times and counters."""
    launches = [launch for launch in _launches() for _ in range(LAUNCHES)]
    metrics = _needed()
    runs = []
    for run in range(RUNS):
        with tempfile.TemporaryDirectory() as folder:
            runs.append(diagnose(read(profile_live(launches, metrics, Path(folder)))))
        print(f"run {run + 1} of {RUNS}: {len(runs[-1].launches)} launches")
    kernels = [_as_json(runs, at * LAUNCHES) for at in range(len(KERNELS))]
    about = {"ncu": runs[0].reports[0].ncu_version, "gpu": runs[0].launches[0].device.name}
    target.parent.mkdir(parents=True, exist_ok=True)
    text = ",\n".join(json.dumps(kernel) for kernel in kernels)
    target.write_text(f'{{"about": {json.dumps(about)}, "kernels": [\n{text}\n]}}\n', encoding="utf-8")
    print(f"{target}: {target.stat().st_size:,} bytes")


def _launches() -> list[Launch]:
    kernels = [(find_kernel(name), sizes) for name, sizes in KERNELS]
    return [launch_of(kernel, {**kernel.text.sizes, **sizes}) for kernel, sizes in kernels]


def _needed() -> list[str]:
    """What the counters of a baseline are computed from, of what ncuview collects."""
    planned = set(metrics_for(load_rules()))
    found = {"gpu__time_duration.sum"}
    for counter in COUNTERS:
        for expression in definitions()[counter].expressions:
            names = metric_names(expression)
            if names <= planned:
                found |= names
                break
    return sorted(found)


def _as_json(runs: Sequence[Diagnosis], first: int) -> dict[str, Any]:
    of_runs = [run.launches[first : first + LAUNCHES] for run in runs]
    example = of_runs[0][0]
    names = [name for name in COUNTERS if all(name in each.metrics for run in of_runs for each in run)]
    values = {name: [[each.metrics[name].value for each in run] for run in of_runs] for name in names}
    return {
        "kernel": example.kernel,
        "demangled": example.demangled,
        "grid": example.grid,
        "block": example.block,
        "duration_ns": [[each.duration_ns for each in run] for run in of_runs],
        "metrics": {
            name: {
                "unit": example.metrics[name].unit,
                "source": example.metrics[name].source,
                "values": value if len({one for run in value for one in run}) > 1 else value[0][0],
            }
            for name, value in values.items()
        },
    }


def load(path: Path) -> list[Repeats]:
    """What was recorded."""
    kernels = json.loads(path.read_text(encoding="utf-8"))["kernels"]
    return [_repeats(kernel) for kernel in kernels]


def _repeats(kernel: dict[str, Any]) -> Repeats:
    times = tuple(map(tuple, kernel["duration_ns"]))
    values = {
        name: tuple(map(tuple, each["values"]))
        if isinstance(each["values"], list)
        else tuple((each["values"],) * len(run) for run in times)
        for name, each in kernel["metrics"].items()
    }
    example = LaunchDiagnosis(
        report="made",
        index=0,
        kernel=kernel["kernel"],
        demangled=kernel["demangled"],
        grid=tuple(kernel["grid"]),
        block=tuple(kernel["block"]),
        duration_ns=times[0][0],
        device=Device("NVIDIA H200", "9.0"),
        origin="report",
        bottleneck="latency",
        units={},
        attained=float("nan"),
        verdict="unclear",
        metrics={
            name: TextbookMetric(values[name][0][0], each["unit"], each["source"])
            for name, each in kernel["metrics"].items()
        },
        outcomes=(),
    )
    return Repeats(example, times, values)


def made_up(chance: random.Random) -> list[Repeats]:
    """Repeats where there is no GPU: recorded counters, and times that spread as six runs on an H200 did.

    A launch spreads by 0.4 % and 0.25 us, and the clocks of a run by 1 %, together for all its kernels. What was
    recorded at other sizes takes its own time.
    """
    drifts = [chance.gauss(1.0, 0.01) for _ in range(RUNS)]
    found: list[Repeats] = []
    for launch in _launches():
        profile = read(recorded_report(launch.kernel.text.family), kernel_name=launch.kernel.function)
        like = [each for each in diagnose(profile).launches if each.block == launch.block]
        example = next((each for each in like if each.grid == launch.grid), like[0])
        if found and any(example.grid == each.example.grid and example.kernel == each.example.kernel for each in found):
            continue
        spread = 0.004 * example.duration_ns + 250.0
        times = tuple(
            tuple(chance.gauss(example.duration_ns * drift, spread) for _ in range(LAUNCHES)) for drift in drifts
        )
        names = [name for name in COUNTERS if name in example.metrics]
        values = {name: ((example.metrics[name].value,) * LAUNCHES,) * RUNS for name in names}
        found.append(Repeats(replace(example, outcomes=()), times, values))
    return found


# Trials


Side = list[tuple[int, int]]


def sides(chance: random.Random, trial: int) -> tuple[Side, Side]:
    """Run and place of the launches on either side."""
    if trial % 2:
        one, other = chance.sample(range(RUNS), 2)
        return [(one, at) for at in range(LAUNCHES)], [(other, at) for at in range(LAUNCHES)]
    runs = chance.sample(range(RUNS), 2 * LAUNCHES)
    drawn = [(run, chance.randrange(LAUNCHES)) for run in runs]
    return drawn[:LAUNCHES], drawn[LAUNCHES:]


def held_against(
    before: Iterable[LaunchDiagnosis], after: Iterable[LaunchDiagnosis], limits: BaselineLimits
) -> list[Check]:
    """The checks of a gate whose baseline is one side."""
    was, now = (Diagnosis(tuple(launches), (_KNOWN,)) for launches in (before, after))
    baseline = baseline_of(was, [], Spreads(), "trial")
    gate = judge(now, _PROFILE, Budget(baseline=limits), ("trial", baseline), settings={}, spreads=Spreads())
    return list(gate.checks)


def trials(kernels: Sequence[Repeats], change: Callable[[LaunchDiagnosis], LaunchDiagnosis]) -> list[list[Check]]:
    """TRIALS gates over all kernels, with a change of the second side."""
    chance = random.Random(SEED)
    found = []
    for trial in range(TRIALS):
        one, other = sides(chance, trial)
        before = [each.launch(*at) for each in kernels for at in one]
        after = [change(each.launch(*at)) for each in kernels for at in other]
        found.append(held_against(before, after, BaselineLimits()))
    return found


def slower(share: float) -> Callable[[LaunchDiagnosis], LaunchDiagnosis]:
    """A change that makes every launch take longer."""
    return lambda launch: replace(launch, duration_ns=launch.duration_ns * (1 + share))


def without_a_change(kernels: Sequence[Repeats]) -> None:
    """The table of A/A trials."""
    gates = trials(kernels, slower(0.0))
    print(f"| A/A: {TRIALS} gates of {len(kernels)} kernels, {LAUNCHES} launches on either side | gates | checks |")
    print("| --- | ---: | ---: |")
    for what, subject in (("times", True), ("counters", False)):
        of_kind = [[check for check in gate if (check.subject == "duration_ns") is subject] for gate in gates]
        for result in ("failed", "inconclusive", "not judged"):
            hits = [sum(check.result == result for check in checks) for checks in of_kind]
            total = sum(map(len, of_kind))
            print(f"| {what} {result} | {sum(map(bool, hits))} of {TRIALS} | {sum(hits)} of {total:,} |")
    print()


def with_a_slowdown(kernels: Sequence[Repeats]) -> None:
    """The table of injected slowdowns."""
    print("| kernel | time | spread of a launch | " + " | ".join(f"+{share:.0%} caught" for share in SLOWER) + " |")
    print("| --- | ---: | ---: |" + " ---: |" * len(SLOWER))
    caught = {share: trials(kernels, slower(share)) for share in SLOWER}
    for each in kernels:
        key = (each.example.demangled or each.example.kernel, each.example.grid)
        cells = []
        for gates in caught.values():
            results = [
                c.result for gate in gates for c in gate if (c.kernel, c.grid) == key and c.subject == "duration_ns"
            ]
            unsure = results.count("inconclusive")
            aside = f", {100 * unsure / len(results):.0f} % unsure" if unsure else ""
            cells.append(f"{100 * results.count('failed') / len(results):.1f} %{aside}")
        all_times = sorted(time for run in each.times_ns for time in run)
        middle = all_times[len(all_times) // 2]
        name = f"{each.example.kernel} {'x'.join(map(str, each.example.grid[:2]))}"
        spread = (all_times[-1] - all_times[0]) / middle
        print(f"| {name} | {middle / 1e3:,.1f} us | {spread:.1%} | " + " | ".join(cells) + " |")
    long = {each.example.demangled for each in kernels if each.times_ns[0][0] >= LONG_NS}
    rates = []
    for gates in caught.values():
        results = [c.result for gate in gates for c in gate if c.kernel in long and c.subject == "duration_ns"]
        rates.append(f"{100 * results.count('failed') / len(results):.1f} %")
    print(f"| all above {LONG_NS / 1e3:.0f} us | | | " + " | ".join(rates) + " |")
    print()


def with_another_kernel(kernels: Sequence[Repeats]) -> None:
    """The table of injected regressions of counters; the times are not looked at."""
    by_name = {each.example.kernel: each for each in reversed(kernels)}
    print("| regression of counters | caught | by |")
    print("| --- | ---: | --- |")
    chance = random.Random(SEED)
    for what, good, bad in REGRESSIONS:
        caught, named = 0, set()
        for trial in range(TRIALS):
            one, other = sides(chance, trial)
            before = [by_name[good].launch(*at) for at in one]
            worse = (by_name[bad].launch(*at) for at in other)
            first = before[0]
            after = [replace(each, kernel=first.kernel, demangled=first.demangled) for each in worse]
            failed = [c for c in held_against(before, after, BaselineLimits(time="off")) if c.result == "failed"]
            caught += bool(failed)
            named |= {check.subject for check in failed}
        print(f"| {what}: {good} becomes {bad} | {caught} of {TRIALS} | {', '.join(sorted(named))} |")
    print()


def main() -> None:
    """Record, or print the tables."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("repeats", type=Path, nargs="?", help="what --record has written; made-up repeats without it")
    words.add_argument("--record", action="store_true", help="write the file instead")
    options = words.parse_args()
    if options.record:
        record(options.repeats)
        return
    kernels = load(options.repeats) if options.repeats else made_up(random.Random(SEED))
    without_a_change(kernels)
    with_a_slowdown(kernels)
    with_another_kernel(kernels)


if __name__ == "__main__":
    main()
