"""Terminal page and JSON of a ``Trial``: the result first, then each change with its prediction and its measurement.

``trial_page`` returns the page, ``trial_document`` the JSON document.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Column, Table
from rich.text import Text

from ncuview.base.figures import duration, factor
from ncuview.base.version import VERSION
from ncuview.comparison.compare import launch_words
from ncuview.records.diagnosis import Gain
from ncuview.records.documents.trial import TrialDocument
from ncuview.records.schema import plain
from ncuview.render.document import launch_document
from ncuview.render.terminal import page_console, page_text, plain_table, row
from ncuview.render.text import json_text, safe_copy, safe_lines, safe_text
from ncuview.render.words import bottleneck_sentence, device_words

if TYPE_CHECKING:
    from rich.console import Console

    from ncuview.pipeline.planned import Planned, PlannedChange
    from ncuview.records.trial import Attempt, Bound, Bounds, Trial

_MOST_LINES = 24
"""Lines of a patch on a page; more are in the file, or in JSON."""


def trial_page(trial: Trial, *, width: int, color: bool) -> str:
    """The terminal page: what is kept, the changes in order, why others are not kept, and the patch."""
    console = page_console(width, color=color)
    patch, trial = trial.patch.splitlines(), safe_copy(trial)
    heading = Text(trial.kernel, style="bold")
    heading.append(f"  {launch_words(trial.grid, trial.block)}  {duration(trial.before_ns)}", style="not bold")
    console.print(heading)
    console.print(Text(conditions(trial), style="dim"))
    console.print()
    row(console, "Result", Text(result_sentence(trial), style="bold"))
    if trial.stopped:
        row(console, "Stopped", Text(f"{trial.stopped}: not every change was tried"), style="yellow")
    if trial.failure:
        row(console, "Missing", Text(f"{trial.failure.message}. {trial.failure.hint}"), style="yellow")
    if trial.remark:
        row(console, "Note", Text(trial.remark), style="dim")
    if trial.attempts:
        console.print()
        console.print(_table(trial.attempts))
    for label, sentences in (
        ("Why not", list(_reasons(trial.attempts))),
        ("At least", _bounds(trial.attempts, "at least")),
        ("No bound", _bounds(trial.attempts, "nothing")),
        ("Assumes", list(_assumptions(trial))),
    ):
        for number, sentence in enumerate(sentences):
            row(console, "" if number else label, Text(sentence))
    _kept(console, trial, patch)
    return page_text(console)


def trial_document(trial: Trial) -> str:
    """The JSON document."""
    document = TrialDocument(
        schema="ncuview.trial/1",
        ncuview=VERSION,
        target=trial.target,
        kernel=trial.kernel,
        device=trial.device,
        grid=trial.grid,
        block=trial.block,
        sizes=trial.sizes,
        before_ns=trial.before_ns,
        gain=trial.gain,
        end_to_end=trial.end_to_end,
        finished=trial.finished,
        stopped=trial.stopped,
        remark=trial.remark,
        error=trial.failure,
        seconds=trial.seconds,
        attempts=trial.attempts,
        patch=trial.patch,
        before=launch_document(trial.before) if trial.before else None,
        after=launch_document(trial.after) if trial.after else None,
    )
    return json_text(plain(document))


def planned_page(planned: Planned) -> str:
    """The changes that would be tried, each with its patch or the reason why there is none, and what is unknown."""
    parts = [_planned_change(each) for each in planned.changes]
    if planned.unknown:
        where = f"{safe_text(planned.kernel)} in {safe_text(planned.path)}"
        parts.append(
            "\n".join([f"Not known of {where} without a run:", *(f"- {each}" for each in planned.unknown), ""])
        )
    return "\n".join(parts) or "nothing would be tried: no rule asks for a change\n"


def _planned_change(change: PlannedChange) -> str:
    rules = change.rule or " or ".join(change.if_asked_by)
    asked = f" ({'if asked by ' if change.if_asked_by else ''}{rules})" if rules else ""
    head = f"{change.kind}{asked}: {safe_text(change.title)}"
    return (
        f"{head}: not written, {safe_text(change.reason)}\n" if change.reason else f"{head}\n{safe_lines(change.diff)}"
    )


def result_sentence(trial: Trial) -> str:
    """``3.05x faster (3.02x to 3.08x): 327.6 us to 107.4 us, 2 changes kept``, or that nothing gains."""
    if trial.gain is None:
        tried = sum(each.measured is not None for each in trial.attempts)
        if not trial.finished:
            return f"nothing is kept so far; {_changes(tried)} timed"
        return f"finished: nothing that was tried gains; {_changes(tried)} timed"
    after = duration(trial.before_ns / trial.gain.best)
    words = f"{factor(trial.gain.best)} faster ({trial.gain.bounds}): {duration(trial.before_ns)} to {after}"
    ends = f", end-to-end {factor(trial.end_to_end.best)} ({trial.end_to_end.bounds})" if trial.end_to_end else ""
    return f"{words}{ends}, {_changes(len(trial.kept))} kept"


def _changes(count: int) -> str:
    return f"{count} change{'s' * (count != 1)}"


def conditions(trial: Trial) -> str:
    """The GPU and the sizes that the result holds for."""
    sizes = ", ".join(f"{name} = {size:,}" for name, size in trial.sizes.items())
    return ", ".join(filter(None, [f"measured on {device_words(trial.device)}", sizes]))


def _table(attempts: Sequence[Attempt]) -> Table:
    """A line for each change that was written: predicted, bound, measured, decision."""
    columns = (
        Column("change", overflow="fold", ratio=1),
        Column("predicted", justify="right", no_wrap=True),
        Column("bound", justify="right", no_wrap=True),
        Column("measured", justify="right", no_wrap=True),
        Column("", no_wrap=True),
    )
    return plain_table(
        columns,
        (
            (
                each.title,
                _best(each.predicted),
                _bound(each.bound),
                _best(each.measured),
                each.decision,
            )
            for each in attempts
            if each.decision != "not written"
        ),
    )


def _best(gain: Gain | None) -> str:
    return factor(gain.best) if gain else "-"


def _bound(bound: Bound | None) -> str:
    """What the ablation measured, where it bounds the change: ``at most 1.02x``."""
    return f"{bound.bounds} {factor(bound.gain.best)}" if bound and bound.bounds != "nothing" else "-"


def shown(attempts: Sequence[Attempt]) -> list[Attempt]:
    """The attempts that pages show: why one way is not written is left out once another of the finding is kept."""
    kept = {_asked(each) for each in attempts if each.decision == "kept"}
    return [each for each in attempts if each.decision != "not written" or _asked(each) not in kept]


def _asked(attempt: Attempt) -> tuple[int, str, str]:
    return attempt.step, attempt.rule, attempt.optimization


def why_bounded(bound: Bound) -> str:
    """Why the gain of an ablation bounds nothing, or from below only, as a clause; empty where it bounds from above."""
    return bound.not_believed or bound.more_work or bound.only_the_waste if bound.bounds != "at most" else ""


def _reasons(attempts: Sequence[Attempt]) -> Iterator[str]:
    for each in shown(attempts):
        if each.decision != "kept" and (each.rule or each.decision != "not written"):
            yield f"{each.title}: {each.decision}, {each.reason}" if each.reason else f"{each.title}: {each.decision}"


def _bounds(attempts: Sequence[Attempt], wanted: Bounds) -> list[str]:
    """The ablations that bound nothing, or from below only, each once with the reason."""
    bounds = (each.bound for each in attempts if each.bound and each.bound.bounds == wanted)
    return list(dict.fromkeys(f"{bound.title}: {why_bounded(bound)}" for bound in bounds))


def explanations(attempts: Sequence[Attempt]) -> Iterator[str]:
    """``Launch blocks of 512 threads instead of 256: 1.08x, occupancy 48% -> 71%``, for values of parameters."""
    for each in attempts:
        if each.explained and each.measured:
            yield f"{each.title}: {factor(each.measured.best)}, {each.explained}"


def _assumptions(trial: Trial) -> Iterator[str]:
    return (f"{each.title}: {each.assumes}" for each in trial.kept if each.assumes)


def _kept(console: Console, trial: Trial, patch: Sequence[str]) -> None:
    """The checks of the kept changes, the new bottleneck, and the patch."""
    if not trial.kept:
        return
    row(console, "Checked", Text(", ".join(dict.fromkeys(check for each in trial.kept for check in each.checks))))
    for sentence in explanations(trial.kept):
        row(console, "Explained", Text(sentence))
    if trial.after:
        row(console, "Now", Text(bottleneck_sentence(trial.after)))
    console.print()
    for line in patch[:_MOST_LINES]:
        style = "green" if line.startswith("+") else "red" if line.startswith("-") else "dim"
        console.print(Text(safe_text(line), style=style), soft_wrap=True)
    if len(patch) > _MOST_LINES:
        more = len(patch) - _MOST_LINES
        console.print(Text(f"{more:,} more lines: --format json has all of them", style="dim"))
