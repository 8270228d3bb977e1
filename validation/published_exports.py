"""What ncuview makes of exports that others published, from Volta to Blackwell.

    python -m validation.published_exports FOLDER DOCUMENT

published.toml says where each export is; FOLDER holds them under the names that it gives. They are no part of this
project. Every finding is held against the file: what it rests on must have a value there.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import typer

from ncuview.api import load_rules
from ncuview.base.errors import NcuviewError
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import Rule
from ncuview.metrics.quantities.stalls import OF_SOME_CHIPS
from ncuview.reader.reader import read
from ncuview.records.diagnosis import Broken, Finding, LaunchDiagnosis, NotApplicable, Passed, Skipped
from ncuview.records.profile import Profile

SOURCES = Path(__file__).with_suffix(".toml")
_HEAD = """\
# Exports that others published

Made by `python -m validation.published_exports` from CSV exports of Nsight Compute in public repositories, of GPUs
from Volta to Blackwell. They were copied by hand, some in part, and are not in this repository;
`validation/published_exports.toml` says where each is. Such exports hold few metrics, and none of instructions: rules
judge by counters, where those that they need are there, and say what is missing where not. *Judged* counts outcomes of
rules over all launches: found, passed, without a subject, skipped for want of metrics. *Unfounded* counts findings that
rest on a metric without a value in the file.

The one that is refused was published without its header. Two are details pages, whose labels are for people; of these
28 mean a metric for certain (`validation/details_labels.py`), and the rest are left out. Before the first of them was
tried, details pages with rules were taken for damaged files.

| export | GPU | tried | launches | metrics | judged | advice | unfounded |
| --- | --- | --- | ---: | ---: | --- | --- | ---: |"""
_OUTCOMES = (Finding, Passed, NotApplicable, Skipped, Broken)


def main(folder: Path, document: Path) -> None:
    """Write the document."""
    rules = {rule.text.code: rule for rule in load_rules()}
    rows = [_row(export, folder, rules) for export in tomllib.loads(SOURCES.read_text("utf-8"))["export"]]
    document.write_text("\n".join([_HEAD, *rows]) + "\n", encoding="utf-8")


def _row(export: Mapping[str, str], folder: Path, rules: Mapping[str, Rule]) -> str:
    about = [f"{export['repository']}: {Path(export['path']).name}", export["gpu"], export["part"]]
    try:
        profile = read([folder / export["file"]])
    except NcuviewError as refused:
        said = str(refused).removeprefix(str(folder / export["file"])).strip()
        return f"| {' | '.join([*about, '', '', f'refused: it {said}', '', ''])} |"
    launches = diagnose(profile, tuple(rules.values()), "report").launches
    counted = Counter(type(outcome) for launch in launches for outcome in launch.outcomes)
    judged = ", ".join(str(counted[kind]) for kind in _OUTCOMES[:-1]) + f"; {counted[Broken]} broken" * bool(
        counted[Broken]
    )
    advice = ", ".join(sorted({finding.optimization for launch in launches for finding in launch.findings})) or "none"
    unfounded = sum(1 for _ in _unfounded(profile, launches, rules))
    numbers = [str(len(launches)), str(len(profile.metrics.columns)), judged, advice, str(unfounded)]
    return f"| {' | '.join([*about, *numbers])} |"


def _unfounded(profile: Profile, launches: Sequence[LaunchDiagnosis], rules: Mapping[str, Rule]) -> Iterator[Finding]:
    """Findings that rest on metrics which are missing in the file, whatever the rule engine decided."""
    for place, launch in enumerate(launches):
        known = profile.metrics.iloc[place].dropna().index
        for finding in (outcome for outcome in launch.outcomes if isinstance(outcome, Finding)):
            needed = {metric for evidence in finding.evidence for metric in evidence.metrics}
            if finding.grade == "certain":
                needed |= replace(rules[finding.rule.code], waste=None).metric_names()
            if not needed - OF_SOME_CHIPS <= set(known):
                yield finding


if __name__ == "__main__":
    typer.run(main)
