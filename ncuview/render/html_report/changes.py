"""HTML section of a ``Comparison`` in the report (``changes_section``): a row per pair of launches with its speedup.

Each row also has a sentence on what changed, and the predicted and measured speedup of the first advice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite, log
from xml.etree import ElementTree as ET

from ncuview.base.figures import duration, factor
from ncuview.comparison.compare import Comparison, Pair
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.render.change_words import change_sentence
from ncuview.render.comparison import only_lines, prediction_words, sides, total_sentence
from ncuview.render.html_report.checks import Ids
from ncuview.render.html_report.elements import Part, dim, element, heading, hidden, number, scrolled, section, table
from ncuview.render.words import step_words

_SHOWN = 12
"""The number of pairs that are shown, largest change first; the others are folded."""
_WIDEST = 4.0
"""A bar ends at this factor, faster or slower."""


def changes_section(comparison: Comparison, ids: Ids) -> ET.Element:
    """The sources of both sides, total time, and the pairs by the change of their time."""
    parts: list[Part] = []
    parts += [dim(line) for line, _ in sides(comparison)]
    if comparison.differences:
        parts.append(element("p", f"Compared by force: {'; '.join(comparison.differences)}.", css="warn"))
    if comparison.unknown:
        parts.append(
            element("p", f"Not checked, since a report does not give it: {', '.join(comparison.unknown)}.", css="warn")
        )
    parts.append(element("p", total_sentence(comparison)))
    parts.append(_table(comparison.pairs[:_SHOWN], ids))
    if further := comparison.pairs[_SHOWN:]:
        summary = element("summary", f"{len(further):,} more, whose time changed less")
        parts.append(element("details", summary, _table(further, ids), data_print=""))
    parts += [element("p", line) for line in only_lines(comparison)]
    return section("changes", "Changes", *parts)


def _table(pairs: Sequence[Pair], ids: Ids) -> ET.Element:
    head = [
        heading("kernel", data_sort="falling"),
        *(heading(name, css="number", data_sort="falling") for name in ("before", "after", "speedup")),
        heading(hidden("speedup as a bar")),
        heading("what changed", data_sort="falling"),
    ]
    rows = [_pair(pair, ids) for pair in pairs]
    return scrolled(table(head, rows, css="wide changes", data_sortable="rows"), "Changes of each kernel")


def _pair(pair: Pair, ids: Ids) -> ET.Element:
    was, now = pair.longest
    row = ids.get((now.demangled, now.grid, now.block))
    name = now.kernel if was.kernel == now.kernel else f"{was.kernel} -> {now.kernel}"
    known = isfinite(pair.speedup)
    change = "unknown" if not known else "no change" if pair.is_noise else factor(pair.speedup)
    return element(
        "tr",
        element("th", element("a", name, href=f"#{row}") if row else name, scope="row"),
        number(duration(pair.before_ns), pair.before_ns),
        number(duration(pair.after_ns), pair.after_ns),
        number(change, pair.speedup),
        element("td", *([] if not known or pair.is_noise else [_bar(pair.speedup)])),
        element("td", *_changes(pair, was, now)),
    )


def _changes(pair: Pair, was: LaunchDiagnosis, now: LaunchDiagnosis) -> Iterator[Part]:
    yield f"{change_sentence(pair)}."
    if pair.prediction:
        yield element("p", f"Advice {prediction_words(pair)}")
    yield dim(f"next: {step_words(now)}, before: {step_words(was)}")


def _bar(speedup: float) -> ET.Element:
    """A bar from the middle to the right for a speedup, to the left for a slowdown; logarithmic."""
    length = min(abs(log(speedup)) / log(_WIDEST), 1.0) * 50
    faster = speedup >= 1
    return element(
        "svg",
        element("rect", css="track", width=100.0, height=10.0),
        element(
            "rect", css="use" if faster else "slower", x=50.0 if faster else 50 - length, width=length, height=10.0
        ),
        element("rect", css="mark", x=49.6, width=0.8, height=10.0),
        css="bar",
        viewBox="0 0 100 10",
        preserveAspectRatio="none",
        aria_hidden="true",
    )
