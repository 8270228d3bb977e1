"""Score diagnoses of the labelled programs with their machine code removed: what counters alone give.

    python -m validation.without_code              writes validation/without-code.md
    python -m validation.without_code estimates    prints how far the estimates of counters are from what the code says

What rules assume without code was written and fitted on the programs with odd numbers. Those with even numbers were
only counted, and those from 229 on are held out, so that their figures are those to expect elsewhere.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import typer

from ncuview.api import load_rules
from ncuview.engine.rank import diagnose
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.counted import COUNTED, FromCounters
from ncuview.reader.reader import read
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.profile import Profile
from validation.advisers import OURS
from validation.cases import Case, of_programs
from validation.labelled import HERE, REPORTS, sources

PAGE = HERE / "without-code.md"
ODD, EVEN, ALL = "odd numbers: the assumptions were written on them", "even numbers: not looked at", "all programs"
LATER, LAST_IN_VIEW = "not fitted: programs 229 to 292", 228
Read = Callable[[Path], Profile]
app = typer.Typer(add_completion=False)

_HEAD = """# Without machine code

Made by `python -m validation.without_code`: the reports of the labelled programs, from which machine code, source
lines and numbers of instructions are removed. [Accuracy](accuracy.md) explains *pair*, *near peak* and *negative
example*, and has the same figures with code. A *finished* launch is one near its peak; *false advice* is any advice on
a finished launch, and the advice of a negative example that its label names.

What rules assume without code (`[without_code]` in their files, `ncuview/metrics/without_code.toml` for all of them)
was written and fitted on the programs with odd numbers. Those with even numbers were only counted. Conditions and
predictions that both judgements share were corrected with all programs in view. Programs 229 to 292
were written later and give a column of their own: no assumption was fitted on them.
"""


@dataclass(frozen=True)
class Scored:
    """A group of programs without code: its cases, and the diagnosis of each launch."""

    cases: Sequence[Case]
    launches: dict[str, LaunchDiagnosis]

    def verdicts(self, cases: Iterable[Case]) -> Counter[str]:
        """How often each verdict was given."""
        return Counter(self.launches[case.kernel].verdict for case in cases)


def without_code(profile: Profile) -> Profile:
    """A profile as of a report whose machine code was removed."""
    return replace(profile, instructions=profile.instructions.iloc[:0], sources={}, call_sites={}, source_remarks={})


def scored(programs: Sequence[str], reader: Read) -> Scored:
    """The cases of these programs without code."""
    launches: dict[str, LaunchDiagnosis] = {}

    def judged(report: Path) -> Diagnosis:
        diagnosis = diagnose(without_code(reader(report)), load_rules())
        launches.update({launch.kernel: launch for launch in diagnosis.launches})
        return diagnosis

    return Scored(of_programs(REPORTS, programs, judged), launches)


def group_of(program: str) -> str:
    """The group that a program is counted in."""
    number = int(program[1:])
    return LATER if number > LAST_IN_VIEW else ODD if number % 2 else EVEN


def groups(reader: Read) -> dict[str, Scored]:
    """The programs in view with odd and even numbers, those held out, and all."""
    programs: dict[str, list[str]] = {ODD: [], EVEN: [], LATER: []}
    for program in sources():
        programs[group_of(program)].append(program)
    found = {name: scored(each, reader) for name, each in programs.items()}
    cases = [case for group in found.values() for case in group.cases]
    launches = {kernel: launch for group in found.values() for kernel, launch in group.launches.items()}
    return {**found, ALL: Scored(cases, launches)}


def page(found: dict[str, Scored]) -> str:
    """The page of these scores."""
    names = list(found)
    columns = [dict(_figures(each)) for each in found.values()]
    rows = [f"| {what} | {' | '.join(column[what] for column in columns)} |" for what in columns[0]]
    table = [f"| | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}", *rows]
    return "\n".join([_HEAD, *table, "", *_misses(found[ODD]), ""])


def _figures(group: Scored) -> Iterator[tuple[str, str]]:
    pairs = [case for case in group.cases if case.right]
    finished = [case for case in group.cases if case.near_peak]
    negative = [case for case in group.cases if case.negative_example]
    said = [case for case in pairs if OURS.hit(case, len(case.ours))]
    needless = sum(bool(OURS.advised(case)) for case in finished)
    in_vain = sum(OURS.advises_in_vain(case) for case in negative)
    yield "first advice right", _share(sum(OURS.hit(case, 1) for case in pairs), len(pairs))
    yield "right among the first three", _share(sum(OURS.hit(case, 3) for case in pairs), len(pairs))
    yield "other advice first", _share(sum(bool(OURS.advised(c)) and not OURS.hit(c, 1) for c in pairs), len(pairs))
    yield "measured gain between low and high", _share(sum(map(OURS.covers, said)), len(said))
    yield "finished launches called near-peak", _share(group.verdicts(finished)["near-peak"], len(finished))
    yield "pairs called near-peak", _share(group.verdicts(pairs)["near-peak"], len(pairs))
    yield "false advice on finished launches", _share(needless, len(finished))
    yield "false advice on negative examples", _share(in_vain, len(negative))
    yield "false advice on both", _share(needless + in_vain, len(finished) + len(negative))


def _share(some: int, of: int) -> str:
    return f"{some} of {of}, {some / of:.0%}"


def _misses(group: Scored) -> Iterator[str]:
    """What is right, and how often it comes first, by the label's own word."""
    yield "Right first advice by what is right, of the programs with odd numbers:"
    yield ""
    yield "| right | first | what came first instead |"
    yield "| --- | ---: | --- |"
    of_word: dict[str, list[Case]] = {}
    for case in group.cases:
        if case.right:
            of_word.setdefault(case.right[0], []).append(case)
    for word, cases in sorted(of_word.items(), key=lambda item: (-len(item[1]), item[0])):
        missed = [case for case in cases if not OURS.hit(case, 1)]
        instead = Counter(next((each.optimization for each in OURS.advised(case)), "nothing") for case in missed)
        listed = ", ".join(f"{other} {count}" for other, count in instead.most_common())
        yield f"| {word} | {len(cases) - len(missed)} of {len(cases)} | {listed} |"


def read_one(report: Path) -> Profile:
    """The launches of a report."""
    return read([report])


@app.callback(invoke_without_command=True)
def main(context: typer.Context) -> None:
    """Write the page."""
    if context.invoked_subcommand is None:
        PAGE.write_text(page(groups(read_one)), encoding="utf-8")


@app.command()
def estimates() -> None:
    """Print for each estimate its ratio to the value from code: median, 10th and 90th percentile; odd programs."""
    ratios: dict[str, list[float]] = {name: [] for name in COUNTED}
    for program in sources():
        if group_of(program) != ODD:
            continue
        analysis = Analysis(read_one(REPORTS / f"{program}.ncu-repz"))
        counted = FromCounters(analysis)
        for name in COUNTED:
            with np.errstate(all="ignore"):
                ratio = counted.value(name) / analysis.value(name)
            ratios[name].extend(ratio[np.isfinite(ratio)].tolist())
    for name, found in ratios.items():
        low, median, high = np.percentile(found, [10, 50, 90]) if found else (np.nan,) * 3
        print(f"{name}: {len(found)} launches, {median:.2f}, from {low:.2f} to {high:.2f}")


if __name__ == "__main__":
    app()
