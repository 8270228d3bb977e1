"""What rules say of launches profiled with ``--set full``, beside what they say where all that they ask for is there.

    python -m validation.full_sets PLANNED FULL DOCUMENT [REPORT ...]

The first two are folders of reports with the same names, of the same programs in the same run, as
``python -m validation.measure PLANNED --vendor`` writes them (``FULL`` is ``PLANNED/full``). The reports are
others, of which only what is said is shown: those that come with Nsight Compute, in its ``extras/samples``, say.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ncuview.api import load_rules
from ncuview.engine.rank import diagnose
from ncuview.reader.reader import read
from ncuview.records.diagnosis import LaunchDiagnosis, Skipped

_HEAD = """\
# Reports of `--set full`

Made by `python -m validation.full_sets` from labelled programs on an NVIDIA H200 with ncu 2025.3.1, each profiled
with the metrics that ncuview asks for and again with `--set full`, as users' reports mostly are. Where a metric that
others determine is missing in a report, it is computed (`ncuview/reader/equivalents.toml`); a rule with a metric that
is still missing is skipped. *Same* means the same first advice, or no advice in both.
"""


_OTHERS = """
## Reports of others

Those that NVIDIA ships with Nsight Compute as samples, which are not in this repository.

| report | GPU | ncu | launch | time | bottleneck | advice | skipped |
| --- | --- | --- | --- | ---: | --- | --- | --- |"""


def main(
    planned: Path,
    full: Path,
    document: Path,
    others: Annotated[list[Path] | None, typer.Argument(metavar="REPORT")] = None,
) -> None:
    """Write the document."""
    pairs = [
        pair
        for report in sorted(full.glob("*.ncu-repz"))
        for pair in zip(_launches(planned / report.name), _launches(report), strict=True)
    ]
    same = [pair for pair in pairs if _advice(pair[0]) == _advice(pair[1])]
    ratios = [
        max(a.predicted_speedup.best / b.predicted_speedup.best, b.predicted_speedup.best / a.predicted_speedup.best)
        for before, after in same
        for a, b in zip(before.findings[:1], after.findings[:1], strict=True)
    ]
    skipped = Counter(rule for _, after in pairs for rule in _skipped(after))
    lines = [
        _HEAD,
        f"- Launches: {len(pairs)}; same: {len(same)}.",
        f"- Gains of the same advice: median factor {statistics.median(ratios):.3f}, largest {max(ratios):.2f}.",
        f"- Skipped with `--set full`, by launches: {_counts(skipped)}.",
        *(
            f"- Not the same: {before.kernel}: {_words(before)}; with `--set full` {_words(after)}"
            for before, after in pairs
            if _advice(before) != _advice(after)
        ),
    ]
    lines += [_OTHERS, *(row for report in others for row in _said(report))] if others else []
    document.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _said(report: Path) -> Iterator[str]:
    """A row for each launch of a report."""
    profile = read([report])
    [about] = profile.reports
    for launch in diagnose(profile, load_rules(), "report").launches:
        bottleneck = (
            f"{launch.bottleneck} {launch.units[launch.bottleneck]:.0%}"
            if launch.bottleneck in launch.units
            else launch.bottleneck
        )
        where = [report.name, launch.device.name, about.ncu_version, launch.kernel]
        said = [f"{launch.duration_ns / 1e3:,.1f} us", bottleneck, _words(launch), ", ".join(_skipped(launch))]
        yield f"| {' | '.join([*where, *said])} |"


def _launches(report: Path) -> tuple[LaunchDiagnosis, ...]:
    return diagnose(read([report]), load_rules(), "report").launches


def _advice(launch: LaunchDiagnosis) -> str:
    return launch.findings[0].optimization if launch.findings else ""


def _words(launch: LaunchDiagnosis) -> str:
    said = [f"{found.optimization} {found.predicted_speedup.best:.2f}" for found in launch.findings[:2]]
    return ", ".join(said) or launch.verdict


def _skipped(launch: LaunchDiagnosis) -> list[str]:
    return [outcome.rule.code for outcome in launch.outcomes if isinstance(outcome, Skipped)]


def _counts(skipped: Counter[str]) -> str:
    return ", ".join(f"{rule} {count}" for rule, count in skipped.most_common()) or "none"


if __name__ == "__main__":
    typer.run(main)
