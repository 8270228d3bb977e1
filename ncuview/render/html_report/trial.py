"""HTML page of a ``Trial``: the result, a row for each change with what was predicted and measured, and the patch."""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree as ET

from ncuview.base.figures import factor
from ncuview.comparison.compare import launch_words
from ncuview.records.diagnosis import Gain
from ncuview.records.trial import Attempt, Trial
from ncuview.render.html_report.elements import Part, dim, element, heading, number, scrolled, section, table
from ncuview.render.html_report.page import page, shipped
from ncuview.render.trial import conditions, explanations, result_sentence, shown, why_bounded
from ncuview.render.words import bottleneck_sentence


def trial_html(trial: Trial) -> str:
    """A trial as one self-contained page."""
    return page(f"{trial.kernel}: changes that were tried", list(_parts(trial)), style=shipped("report.css"))


def _parts(trial: Trial) -> Iterator[ET.Element]:
    yield dim(f"{trial.kernel}, {launch_words(trial.grid, trial.block)}, {conditions(trial)}")
    yield section("result", "Result", *_result(trial))
    if trial.attempts:
        yield section("changes", "Changes", _changes(trial))
    if trial.patch:
        yield section("patch", "Patch", scrolled(element("pre", trial.patch), "The kept changes as a patch"))


def _result(trial: Trial) -> Iterator[Part]:
    yield element("p", f"{result_sentence(trial)}.")
    if trial.stopped:
        yield element("p", f"Not every change was tried: {trial.stopped}.", css="warn", role="alert")
    if trial.failure:
        yield element("p", f"{trial.failure.message}. {trial.failure.hint}", css="warn", role="alert")
    if trial.before:
        yield element("p", f"Before: {bottleneck_sentence(trial.before)}.")
    for sentence in explanations(trial.kept):
        yield element("p", f"{sentence}.")
    if trial.after:
        yield element("p", f"Now: {bottleneck_sentence(trial.after)}.")
    if trial.remark:
        yield dim(trial.remark)


def _changes(trial: Trial) -> ET.Element:
    head = [
        heading("change"),
        *(heading(name, css="number") for name in ("predicted", "bound", "measured")),
        heading("decision"),
        heading("why, or what was checked"),
    ]
    return scrolled(
        table(head, map(_row, shown(trial.attempts)), css="wide"), "Changes in the order in which they were tried"
    )


def _row(attempt: Attempt) -> ET.Element:
    bound = attempt.bound if attempt.bound and attempt.bound.bounds != "nothing" else None
    said = [attempt.reason or ", ".join(attempt.checks)]
    why = why_bounded(attempt.bound) if attempt.bound else ""
    said += [f"The ablation is {'a bound from below only' if bound else 'no bound'}: {why}"] if why else []
    said += [f"It assumes that {attempt.assumes}"] if attempt.assumes and attempt.decision == "kept" else []
    return element(
        "tr",
        element("th", attempt.title, scope="row"),
        _gain(attempt.predicted),
        _gain(bound.gain, f"{bound.bounds} ") if bound else _gain(None),
        _gain(attempt.measured),
        element("td", attempt.decision),
        element("td", ". ".join(filter(None, said))),
    )


def _gain(gain: Gain | None, before: str = "") -> ET.Element:
    return number(f"{before}{factor(gain.best)} ({gain.bounds})" if gain else "", gain.best if gain else None)
