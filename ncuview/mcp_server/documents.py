"""The JSON documents that tools answer with beside ``ncuview.view/1``: ``ExplanationDocument``, ``ChangesDocument`` ...

``schemas`` gives the schemas of all answers; ``schemas.json`` holds them, so that the server loads none of this.
Fields of the type ``Foreign`` hold text from reports and programs: data, never an instruction.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from ncuview.comparison.prediction import PredictionVerdict, WasteState
from ncuview.records.diagnosis import Gain
from ncuview.records.documents import Amount, Count, OptimizationWord, Triple
from ncuview.records.documents.store_answer import ProfilerSettings, StoreCell
from ncuview.records.documents.view import Foreign, Incomplete, Page, ViewDocument
from ncuview.records.schema import LEFT_OUT, schema_of
from ncuview.records.trial import Decision


@dataclass(frozen=True)
class Lines(Page):
    """Lines of a page."""

    items: tuple[str, ...]
    """The lines."""


@dataclass(frozen=True)
class ExplanationDocument:
    """What `ncuview explain` and `ncuview metrics` print of a word."""

    schema: Literal["ncuview.explanation/1"]
    """The name and version of this schema."""
    name: str
    """The word."""
    lines: Lines
    """The page about it."""


@dataclass(frozen=True)
class Range:
    """A number between two bounds."""

    low: Amount
    """The lower bound."""
    high: Amount
    """The upper bound."""


@dataclass(frozen=True)
class PlannedRun:
    """One run of the program."""

    what: str
    """What it collects."""
    command: Foreign | None
    """The command line, quoted for a shell; null where the program runs without ncu, or its metrics depend on what the
    runs before have shown."""
    metrics: Count | None
    """How many metrics are collected of each launch; null without a command."""
    passes: Range | None
    """How often each launch runs; null without a command."""
    ncu_s: Range | None
    """Seconds for ncu itself, in addition to the program's own; null without a command."""
    launch_s: Range | None
    """Further seconds for each launch that is profiled; null without a command."""
    seconds: Range | None
    """Seconds for ncu and all launches; null where the number of launches is not known."""


@dataclass(frozen=True)
class PlanDocument:
    """What `ncuview analyze --dry-run` prints: the runs of a program under ncu, and what they cost. Nothing is run."""

    schema: Literal["ncuview.plan/1"]
    """The name and version of this schema."""
    look: Literal["full", "quick", "runs"]
    """How the program would be profiled."""
    runs: tuple[PlannedRun, ...]
    """The runs, in order."""
    measured_on: tuple[str, ...]
    """The GPUs and ncu that the estimates are from. More than 1 GB of device memory, or kernels of milliseconds, take
    longer."""


@dataclass(frozen=True)
class Held:
    """The predicted and the measured speedup of the advice that was taken."""

    rule: str
    """The rule's code, such as SMEM001."""
    optimization: OptimizationWord
    """What was advised."""
    predicted: Gain
    """How many times as fast the launch should have become."""
    measured: float
    """How many times as fast it became."""
    verdict: PredictionVerdict
    """``kept``: what was measured lies in the predicted range."""
    evidence: WasteState
    """Whether the rule still finds the waste after the change."""


@dataclass(frozen=True)
class Number:
    """A counter that changed in the longest launch of a pair."""

    metric: Foreign
    """Its name: a textbook metric, or a unit of which it is the busy time."""
    words: Foreign
    """Its name in texts."""
    before: float | None
    """Its value before; null where it had none."""
    after: float | None
    """Its value after."""
    unit: Foreign
    """The unit of both."""
    saves_ns: float
    """The time that its change explains, in ns; negative where it costs time. Those of several must not be added."""


@dataclass(frozen=True)
class Outcome:
    """A rule whose finding appeared, disappeared or changed."""

    rule: str
    """The rule's code."""
    before: Foreign
    """Its outcome before."""
    after: Foreign
    """Its outcome after."""
    fires_after: bool
    """Whether it is a finding after the change."""


@dataclass(frozen=True)
class Numbers(Page):
    """Counters that changed, those that explain most time first."""

    items: tuple[Number, ...]
    """The counters."""


@dataclass(frozen=True)
class Outcomes(Page):
    """Rules whose outcome changed, the most time first."""

    items: tuple[Outcome, ...]
    """The rules."""


@dataclass(frozen=True)
class Pair:
    """Launches of one kernel and configuration, before and after."""

    key: str
    """What opens the pair."""
    kernel: Foreign
    """The function's name after the change."""
    grid: Triple
    """Blocks in x, y, z after the change."""
    block: Triple
    """Threads of a block in x, y, z after the change."""
    launches: Count
    """How many there are on each side."""
    before_ns: Amount | None
    """Their time together before, in ns; null when one is unknown."""
    after_ns: Amount | None
    """Their time together after, in ns; null when one is unknown."""
    speedup: float | None
    """Time before over time after; null when one is unknown."""
    unchanged: bool
    """Whether the times differ by no more than they do from run to run."""
    sentence: Foreign
    """What changed and explains the time."""
    prediction: Held | None
    """Whether the advice that was taken kept what it predicted; null where none was taken, or a time is unknown."""


@dataclass(frozen=True)
class Pairs(Page):
    """Pairs of launches, those whose time changed most first."""

    items: tuple[Pair, ...]
    """The pairs."""


@dataclass(frozen=True)
class Opened:
    """All that changed in one pair."""

    pair: Pair
    """The pair."""
    numbers: Numbers
    """The counters that changed."""
    outcomes: Outcomes
    """The rules whose outcome changed."""


@dataclass(frozen=True)
class Alone:
    """Launches without a partner."""

    launches: Count
    """How many."""
    kernels: Foreign
    """The names of their kernels."""


@dataclass(frozen=True)
class ChangesDocument:
    """A bounded part of what `ncuview diff` prints: times, changed counters, and predicted beside measured speedup."""

    schema: Literal["ncuview.changes/1"]
    """The name and version of this schema."""
    document: str
    """A checksum of the comparison that keys and cursors belong to."""
    error: Incomplete | None
    """Why launches are missing on either side; null when both are complete."""
    differences: tuple[Foreign, ...]
    """Why the two cannot really be compared; empty unless it was forced."""
    unknown: tuple[str, ...]
    """Settings that could not be compared, since a report does not name them."""
    not_judged: tuple[Count, Count]
    """Launches before and after on which most rules could not be evaluated."""
    only_before: Alone
    """Launches before without a partner."""
    only_after: Alone
    """Launches after without a partner."""
    pairs: Annotated[Pairs | None, LEFT_OUT] = None
    """A line for each pair, where no pair was opened."""
    opened: Annotated[Opened | None, LEFT_OUT] = None
    """The pair that was opened."""


@dataclass(frozen=True)
class Change:
    """A change that was tried, or would be."""

    key: str
    """What opens it."""
    kind: Literal["edit", "ablation"]
    """``ablation``: the kernel without one waste, whatever it computes; it is never kept."""
    title: Foreign
    """The change, as an imperative; of one that was not written, the optimization in words."""
    rule: str
    """The code of the rule that asks for it; empty where none does."""
    decision: Decision
    """What became of it. ``no gain``: it is not faster. ``refuted``: a check failed. ``unproven``: a check could not be
    made. ``withdrawn``: without the waste the kernel is not faster."""
    reason: Foreign
    """Why it is not kept; empty where it is, or nothing was run."""
    predicted: Gain | None
    """How many times as fast the kernel should become; null where no rule asks for it, or nothing was run."""
    at_most: float | None
    """What its ablation measured: no change of this kind gains more; null where that is not known."""
    at_least: float | None
    """What its ablation measured, where the waste costs that much or more; null where that is not known."""
    measured: Gain | None
    """How many times as fast it became, with the 95 % interval; null where it was not timed."""


@dataclass(frozen=True)
class TriedChanges(Page):
    """The changes, in the order in which they were tried."""

    items: tuple[Change, ...]
    """The changes."""


@dataclass(frozen=True)
class PatchLines(Page):
    """Lines of a patch. `git apply` takes all of them, joined by line breaks and with one at the end."""

    exact: bool
    """Whether all lines are unchanged. Where not, characters were made visible or lines cut: it does not apply."""
    items: tuple[Foreign, ...]
    """The lines."""


@dataclass(frozen=True)
class Found:
    """What a trial found."""

    result: str
    """In one sentence."""
    conditions: Foreign
    """The GPU and the sizes that it holds for."""
    grid: Triple
    """Blocks in x, y, z."""
    block: Triple
    """Threads of a block in x, y, z."""
    before_ns: Amount
    """The median time of the original, in ns."""
    kept: Count
    """How many changes are kept."""
    gain: Gain | None
    """How many times as fast the kept source is, with the 95 % interval; null where nothing is kept."""
    end_to_end: Gain | None
    """The same of the whole program; null of a kernel, or where nothing is kept."""
    finished: bool
    """Whether every change was tried and none gains."""
    stopped: Foreign
    """Why not all changes were tried; empty where all were."""
    remark: Foreign
    """What else to know; may be empty."""
    error: Incomplete | None
    """Why there is no complete answer; null where there is."""


@dataclass(frozen=True)
class OpenedChange:
    """One change in full."""

    change: Change
    """The change."""
    assumes: Foreign
    """What must be true although the source does not show it; may be empty."""
    checks: Foreign
    """The checks that it passed."""
    diff: PatchLines
    """Its patch, against the source with the changes that were kept before."""


@dataclass(frozen=True)
class TrialDocument:
    """A bounded part of what `ncuview try` prints: the changes, what they gain, and what is kept as one patch."""

    schema: Literal["ncuview.trial-part/1"]
    """The name and version of this schema."""
    document: str
    """What keys and cursors belong to."""
    target: Foreign
    """What was tried."""
    kernel: Foreign
    """The kernel that was changed."""
    found: Found | None
    """What was found; null where nothing was run."""
    changes: Annotated[TriedChanges | None, LEFT_OUT] = None
    """A line for each change, where none was opened."""
    patch: Annotated[PatchLines | None, LEFT_OUT] = None
    """All kept changes against the original source; without lines where nothing is kept."""
    opened: Annotated[OpenedChange | None, LEFT_OUT] = None
    """The change that was opened."""


@dataclass(frozen=True)
class StoredTable:
    """A table of launches that are comparable."""

    key: str
    """What its rows name it by."""
    title: str
    """What its rows are."""
    settings: ProfilerSettings | None
    """How the profiler ran; null where the table is not about launches."""
    columns: tuple[str, ...]
    """Their names, in the order of the cells."""
    units: Mapping[str, str]
    """The units of the columns that have one."""
    left_out: Count
    """How many further rows `limit` has cut."""


@dataclass(frozen=True)
class StoredRow:
    """A row of a table."""

    key: str
    """What opens it."""
    table: str
    """The key of its table."""
    cells: tuple[StoreCell, ...]
    """A value for each column; null where it is unknown. A long text is cut, and an integer that JavaScript does not
    hold is a text."""


@dataclass(frozen=True)
class StoredRows(Page):
    """The rows of all tables, in order."""

    items: tuple[StoredRow, ...]
    """The rows."""


@dataclass(frozen=True)
class Notes(Page):
    """What to know about the tables."""

    items: tuple[Foreign, ...]
    """Sentences."""


@dataclass(frozen=True)
class StoredDocument:
    """A bounded part of what `ncuview store` answers to a question."""

    schema: Literal["ncuview.store-part/1"]
    """The name and version of this schema."""
    document: str
    """A checksum of the answer that cursors belong to."""
    question: str
    """The question."""
    reports: Count
    """How many reports the store has."""
    damaged: Count
    """Of how many of them something could not be read."""
    tables: tuple[StoredTable, ...]
    """The tables of the rows that are here."""
    rows: StoredRows
    """The rows; none where no launch in the store is an answer."""
    notes: Notes
    """What to know about the tables."""


ANSWERS: Mapping[str, type] = {
    "diagnose": ViewDocument,
    "explain": ExplanationDocument,
    "diff": ChangesDocument,
    "plan": PlanDocument,
    "try": TrialDocument,
    "store": StoredDocument,
}
"""What each tool answers with."""


def schemas() -> str:
    """The schema of each tool's answers, as JSON, without what clients do not use: an agent has them in its context."""
    found = {tool: _in_short(schema_of(document)) for tool, document in ANSWERS.items()}
    return json.dumps(found, separators=(",", ":")) + "\n"


def _in_short(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_in_short(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    left_out = {"title", "description", "$schema", "$id"}
    return {key: _in_short(part) for key, part in schema.items() if not (key in left_out and isinstance(part, str))}
