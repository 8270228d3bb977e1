"""HTML summary section of the report (``summary_section``): the first three steps, total and saved time, and gate.

It takes the ``KernelRow``s, the ``Priorities`` and the gate; it also shows the share of kernels near their peak.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import fsum
from xml.etree import ElementTree as ET

from ncuview.base.figures import duration, factor
from ncuview.engine.priority import Priorities
from ncuview.gate.verdict import exit_code, nothing_checked
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.records.gate import Gate
from ncuview.render.gate_words import is_closed
from ncuview.render.html_report.elements import Part, dim, element, heading, hidden, section, table
from ncuview.render.html_report.kernels import where_words
from ncuview.render.html_report.rows import KernelRow
from ncuview.render.priorities import bound_sentence
from ncuview.render.words import coverage_sentence, is_finished

_STEPS = 3
_UNJUDGED = {"not-judged", "not-yours"}


def summary_section(rows: Sequence[KernelRow], ranked: Priorities, gate: Gate | None) -> ET.Element:
    """What was judged, the first steps, key figures, and the shares of the time."""
    launches = [launch for row in rows for launch in row.launches]
    parts: list[Part] = [element("p", *_judged(launches))] if launches else []
    steps = [row for row in rows if row.group.advice][:_STEPS]
    if steps:
        parts.append(element("h3", "Do this first"))
        parts.append(element("ol", *(_step(row) for row in steps), css="steps"))
    elif any(row.shown.verdict not in _UNJUDGED for row in rows):
        parts.append(element("p", "There is no advice for any kernel that was judged."))
    elif rows:
        parts.append(element("p", "No kernel of yours was judged."))
    else:
        parts.append(element("p", "There is no launch to show."))
    if rows:
        parts.append(element("div", *_figures(rows, ranked, gate), css="figures"))
    if steps:
        parts.append(dim(bound_sentence(ranked)))
    if ranked.total_ns > 0:
        parts.append(_time(rows, ranked))
    parts += unmeasured(ranked)
    return section("summary", "Summary", *parts)


def unmeasured(ranked: Priorities) -> Iterator[ET.Element]:
    """The launches whose time is not on the page."""
    if ranked.untimed:
        yield dim(f"{ranked.untimed:,} launches are not in these times: their durations were not collected.")
    if ranked.unprofiled:
        yield dim(f"{ranked.unprofiled:,} launches were not profiled, so that their time is not in the total.")


def _judged(launches: Sequence[LaunchDiagnosis]) -> Iterator[Part]:
    """How many of the launches were judged, and why the others were not."""
    judged = sum(launch.verdict not in _UNJUDGED and not launch.unexamined for launch in launches)
    covered = coverage_sentence(launches)
    if not covered:
        yield f"All {judged:,} launches were judged."
    else:
        yield element("strong", f"{judged:,} of {len(launches):,} launches were judged. {covered}")


def _figures(rows: Sequence[KernelRow], ranked: Priorities, gate: Gate | None) -> Iterator[ET.Element]:
    launches = sum(row.group.launches for row in rows)
    what = f"in {launches:,} launch{'es' if launches != 1 else ''} of {len(rows):,} kernel{'s'[: len(rows) != 1]}"
    yield _figure("All kernels", duration(ranked.total_ns), what)
    if ranked.saved.best > 0:
        gain = ranked.speedup
        yield _figure(
            "With all advice for kernels taken",
            f"{factor(gain.best)} faster",
            f"{gain.bounds}, {duration(ranked.left_ns)} left",
        )
    near = [row for row in rows if _is_near_peak(row)]
    share = f"{fsum(row.group.share for row in near):.0%} of the time"
    if near and all(is_finished(row.shown) for row in near):
        share += f": leave {'it' if len(near) == 1 else 'them'} alone"
    yield _figure("Near their peak", f"{len(near):,} of {len(rows):,}", share)
    if gate:
        failed = sum(check.result == "failed" for check in gate.checks)
        unsure = sum(check.result == "inconclusive" for check in gate.checks)
        unjudged = sum(check.result == "not judged" for check in gate.checks)
        counts = f"{failed:,} of {len(gate.checks):,} checks failed" + (f", {unsure:,} inconclusive" if unsure else "")
        counts += f", {unjudged:,} not judged" if unjudged else ""
        closed = is_closed(gate)
        opened = "Nothing was checked" if nothing_checked(gate) else "Open"
        closing = "Closed" if exit_code(gate) == 1 else "Fails"
        yield _figure("Gate", closing if closed else opened, counts, "bad" if closed else "")


def _figure(name: str, value: str, about: str, css: str = "") -> ET.Element:
    return element(
        "div", element("p", name, css="name"), element("p", value, css=f"value {css}".strip()), dim(about), css="figure"
    )


def _is_near_peak(row: KernelRow) -> bool:
    return row.shown.verdict == "near-peak" and not row.group.advice


def _share_of(rows: Sequence[KernelRow], verdict: str) -> float:
    """The share of the time in kernels of this verdict."""
    return fsum(row.group.share for row in rows if row.shown.verdict == verdict and not row.group.advice)


def _time(rows: Sequence[KernelRow], ranked: Priorities) -> ET.Element:
    """One bar of the total time, and the same shares in a table."""
    finished = fsum(row.group.share for row in rows if _is_near_peak(row))
    blind, theirs = (_share_of(rows, verdict) for verdict in ("not-judged", "not-yours"))
    saved = max(ranked.saved.best, 0.0) / ranked.total_ns
    rest = max(0.0, 1 - saved - finished - blind - theirs)
    parts = [
        ("saved", "saved by the first advice of each kernel", saved),
        ("left", "remaining time of kernels with advice, and unclear kernels", rest),
        ("finished", "kernels near their peak", finished),
        *([("theirs", "kernels that are not yours to change", theirs)] if theirs else []),
        *([("blind", "kernels that were not judged", blind)] if blind else []),
    ]
    bars, rows_, at = [], [], 0.0
    for css, name, share in parts:
        bars.append(element("rect", css=css, x=100 * at, width=100 * share, height=10.0))
        at += share
        sample = element("svg", element("rect", css=css, width=10.0, height=10.0), css="sample", **_SAMPLE)
        rows_.append(
            element(
                "tr",
                element("th", sample, name, scope="row"),
                element("td", f"{share:.0%}", css="number"),
                element("td", duration(share * ranked.total_ns), css="number"),
            )
        )
    head = [heading(hidden(name)) for name in ("part", "share", "time")]
    return element(
        "div",
        element("h3", "Where the time is"),
        element("svg", *bars, css="time", viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true"),
        table(head, rows_, css="legend"),
        css="times",
    )


_SAMPLE = {"viewBox": "0 0 10 10", "aria_hidden": "true"}


def _step(row: KernelRow) -> ET.Element:
    group = row.group
    assert group.advice  # noqa: S101  (only rows with advice are steps)
    gain, where = group.predicted_speedup, where_words(row.shown)
    return element(
        "li",
        element("a", row.name, href=f"#{row.id}", css="kernel"),
        element("p", element("span", group.advice.fix.title, css="step"), *([f", {where}"] if where else [])),
        element(
            "p",
            element("strong", f"{factor(gain.best)} faster", css="gain"),
            dim(
                f" ({gain.bounds}), saves {duration(group.saved.best)} of {duration(group.time_ns)}",
                "span",
            ),
        ),
    )
