"""Terminal page of a ``Comparison`` of two profiles: changes of each kernel, and predicted beside measured speedup.

Provenance, total time, a table of pairs, those that changed most in full; ``promise_words`` says if a promise held.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import fsum, isfinite
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ncuview.base.figures import duration, factor
from ncuview.comparison.compare import Comparison, Pair, launch_words
from ncuview.comparison.prediction import PromiseKept
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.render.sentence import moved_sentence, rule_words, shift_words, time_words
from ncuview.render.terminal import page_console, page_text, print_head, row
from ncuview.render.text import safe_text
from ncuview.render.words import step_words

if TYPE_CHECKING:
    from rich.console import Console

_PAGES = 3
_RULES = 3


def comparison_page(comparison: Comparison, *, width: int, color: bool) -> str:
    """Where both come from, the time of all kernels, a table of pairs, and the pairs that changed most in full."""
    console = page_console(width, color=color)
    for label, side in (("before", comparison.before), ("after", comparison.after)):
        print_head(console, side, f"{label}: ")
    for line in _caveats(comparison):
        console.print(Text(safe_text(line)), style="yellow")
    console.print()
    console.print(Text(_total(comparison)))
    if len(comparison.pairs) > 1:
        console.print()
        console.print(_overview(comparison.pairs))
    shown = _worth_a_page(comparison.pairs)
    for pair in shown:
        console.print()
        _pair(console, pair)
    for label, launches in (("before", comparison.only_before), ("after", comparison.only_after)):
        if launches:
            console.print()
            console.print(Text(f"Only {label}: {', '.join(_listed(launches))}"))
    if len(comparison.pairs) > len(shown):
        console.print()
        console.print(f"{len(comparison.pairs) - len(shown)} more pairs: --format json shows all of them.", style="dim")
    return page_text(console)


def _worth_a_page(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """Those whose time changed most; the first where none changed."""
    return [pair for pair in pairs[:_PAGES] if not pair.is_noise] or pairs[:1]


def promise_words(promise: PromiseKept) -> str:
    """``kept: shared_memory_padding promised 2.17x (1.59x to 2.97x), got 2.28x, and its evidence is gone``."""
    promised = promise.promised
    told = {
        "gone": "and its evidence is gone",
        "smaller": "and its evidence is smaller",
        "still there": "and" if promise.verdict == "not kept" else "though",
        "unknown": "and nothing says whether its evidence is gone",
    }[promise.evidence]
    if promise.evidence == "still there":
        told += " its evidence is still there"
    return (
        f"{promise.verdict}: {promise.optimization} promised {factor(promised.best)}"
        f" ({factor(promised.low)} to {factor(promised.high)}), got {factor(promise.got)}, {told}"
    )


def _caveats(comparison: Comparison) -> Iterator[str]:
    if comparison.differences:
        yield f"Compared by force: {'; '.join(comparison.differences)}."
    if comparison.unknown:
        yield f"Not checked, since a report does not say it: {', '.join(comparison.unknown)}."


def _total(comparison: Comparison) -> str:
    timed = [pair for pair in comparison.pairs if isfinite(pair.speedup)]
    was, now = fsum(pair.before_ns for pair in timed), fsum(pair.after_ns for pair in timed)
    launches = sum(len(pair.before) for pair in timed)
    if not launches:
        return "No launch of known duration is in both."
    return (
        f"{launches:,} launch{'es' if launches != 1 else ''} in both: {duration(was)} before, {duration(now)} after,"
        f" {faster_words(was / now)}."
    )


def faster_words(speedup: float) -> str:
    """``2.28x faster``, ``1.10x slower``."""
    return f"{factor(speedup)} faster" if speedup >= 1 else f"{factor(1 / speedup)} slower"


def _overview(pairs: Iterable[Pair]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0))
    for name in ("kernel", "launches", "before", "after", "change"):
        left = name in {"kernel", "change"}
        table.add_column(name, justify="left" if left else "right", overflow="fold", no_wrap=name != "kernel")
    for pair in pairs:
        change = "none" if pair.is_noise else time_words(pair).removeprefix("time ")
        cells = (_name(pair), f"{len(pair.before):,}", duration(pair.before_ns), duration(pair.after_ns), change)
        table.add_row(*(Text(safe_text(cell)) for cell in cells))
    return table


def _name(pair: Pair) -> str:
    was, now = pair.longest
    return now.kernel if was.kernel == now.kernel else f"{was.kernel} -> {now.kernel}"


def _pair(console: Console, pair: Pair) -> None:
    was, now = pair.longest
    heading = Text(safe_text(_name(pair)), style="bold")
    heading.append(f"  {launch_words(now.grid, now.block)}", style="not bold")
    heading.append(f"  {duration(pair.before_ns)} -> {duration(pair.after_ns)}", style="not bold")
    console.print(heading)
    console.print()
    sentence = moved_sentence(pair)
    row(console, "Moved", Text(f"{safe_text(sentence)}."))
    if pair.promise:
        row(console, "Promise", Text(f"{safe_text(promise_words(pair.promise))}."))
    for shift in pair.rules[:_RULES]:
        said = shift.after if shift.fires_after else shift.before
        row(console, "Rule", Text(safe_text(f"{shift.rule.code} {shift.rule.name} {rule_words(shift)}: {said}")))
    further = [words for words in map(shift_words, pair.shifts) if words not in sentence]
    if further:
        row(console, "Also", Text(", ".join(further)))
    row(console, "Next", Text(safe_text(f"{step_words(now)}, before: {step_words(was)}")))


def _listed(launches: Iterable[LaunchDiagnosis]) -> Iterator[str]:
    """Each kernel once, with how often it was launched."""
    for name, count in Counter(launch.kernel for launch in launches).items():
        yield safe_text(name) if count == 1 else f"{safe_text(name)} ({count:,} launches)"
