"""Terminal page of a ``Comparison`` (``comparison_page``): provenance, total time, a table of pairs, largest changes.

``prediction_words`` compares prediction and measurement; ``faster_words`` names a speedup. Other pages use both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import fsum, isfinite
from typing import TYPE_CHECKING

from rich.table import Column, Table
from rich.text import Text

from ncuview.base.figures import duration, factor
from ncuview.comparison.compare import Comparison, Pair, extent_words, launch_words
from ncuview.comparison.prediction import PredictionCheck
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.render.change_words import change_sentence, metric_change_words, rule_change_words, time_words
from ncuview.render.terminal import page_console, page_text, plain_table, print_head, row
from ncuview.render.text import safe_text
from ncuview.render.words import Detail, step_words

if TYPE_CHECKING:
    from rich.console import Console

_PAGES = 3
_RULES = 3


def comparison_page(comparison: Comparison, *, width: int, color: bool, detail: Detail = "normal") -> str:
    """The sources of both sides, total time, a table of pairs, and the pairs whose time changed most in full.

    ``verbose`` shows all pairs in full; ``quiet`` has a line for each pair and nothing else but caveats.
    """
    console = page_console(width, color=color)
    if detail == "quiet":
        _print_quiet(console, comparison)
        return page_text(console)
    for label, side in (("before", comparison.before), ("after", comparison.after)):
        print_head(console, side, f"{label}: ")
    for line in _caveats(comparison):
        console.print(Text(safe_text(line)), style="yellow")
    console.print()
    console.print(Text(_total(comparison)))
    if len(comparison.pairs) > 1:
        console.print()
        console.print(_overview(comparison.pairs))
    verbose = detail == "verbose"
    shown = comparison.pairs if verbose else _largest_changes(comparison.pairs)
    for pair in shown:
        console.print()
        _pair(console, pair, rules=len(pair.rule_changes) if verbose else _RULES)
    for line in _only_on_one_side(comparison):
        console.print()
        console.print(Text(line))
    if more := len(comparison.pairs) - len(shown):
        console.print()
        console.print(f"{more} more {'pair' if more == 1 else 'pairs'}: -v shows all of them.", style="dim")
    return page_text(console)


def _print_quiet(console: Console, comparison: Comparison) -> None:
    """A line for each pair, one for the kernels of each side alone, and what the comparison does not rest on."""
    names = Counter(map(_name, comparison.pairs))
    pairs = (_short_line(pair, named_grid=names[_name(pair)] > 1) for pair in comparison.pairs)
    for line in (*_caveats(comparison), *pairs, *_only_on_one_side(comparison)):
        console.print(Text(safe_text(line)), soft_wrap=True)


def _short_line(pair: Pair, *, named_grid: bool) -> str:
    """``transpose  327.6 us -> 143.5 us  2.28x faster``, and whether the prediction of the advice taken held."""
    changed = "unchanged" if pair.is_noise else faster_words(pair.speedup) if isfinite(pair.speedup) else "time unknown"
    held = f", {_VERDICTS[pair.prediction.verdict]}" if pair.prediction else ""
    grid = f" ({extent_words(pair.longest[1].grid)})" if named_grid else ""
    return f"{_name(pair)}{grid}  {duration(pair.before_ns)} -> {duration(pair.after_ns)}  {changed}{held}"


def _only_on_one_side(comparison: Comparison) -> Iterator[str]:
    for label, launches in (("before", comparison.only_before), ("after", comparison.only_after)):
        if launches:
            yield f"Only {label}: {', '.join(_listed(launches))}"


def _largest_changes(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """The pairs whose time changed most; the first where none changed."""
    return [pair for pair in pairs[:_PAGES] if not pair.is_noise] or pairs[:1]


_VERDICTS = {
    "kept": "within the prediction",
    "more than promised": "above the prediction",
    "not kept": "below the prediction",
}
_EVIDENCE = {
    "gone": "its evidence is gone",
    "smaller": "its evidence is smaller",
    "unknown": "whether its evidence is gone is unknown",
}


def prediction_words(check: PredictionCheck) -> str:
    """``shared_memory_padding: 2.17x predicted (1.59x to 2.97x), 2.28x measured, within the prediction; ...``."""
    predicted = check.predicted
    return (
        f"{check.optimization}: {factor(predicted.best)} predicted"
        f" ({predicted.bounds}), {factor(check.measured)} measured,"
        f" {_VERDICTS[check.verdict]}; {_EVIDENCE[check.evidence]}"
    )


def _caveats(comparison: Comparison) -> Iterator[str]:
    if comparison.differences:
        yield f"Compared by force: {'; '.join(comparison.differences)}."
    if comparison.unknown:
        yield f"Not checked, since a report does not give it: {', '.join(comparison.unknown)}."


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
    """``2.28x faster``, ``1.10x slower``, ``unchanged``."""
    if factor(max(speedup, 1 / speedup)) == factor(1.0):
        return "unchanged"
    return f"{factor(speedup)} faster" if speedup >= 1 else f"{factor(1 / speedup)} slower"


def _overview(pairs: Iterable[Pair]) -> Table:
    numbers = [Column(name, justify="right", overflow="fold", no_wrap=True) for name in ("launches", "before", "after")]
    columns = [Column("kernel", overflow="fold"), *numbers, Column("change", overflow="fold", no_wrap=True)]
    return plain_table(columns, map(_cells, pairs))


def _cells(pair: Pair) -> tuple[str, ...]:
    change = "none" if pair.is_noise else time_words(pair).removeprefix("time ")
    return (_name(pair), f"{len(pair.before):,}", duration(pair.before_ns), duration(pair.after_ns), change)


def _name(pair: Pair) -> str:
    was, now = pair.longest
    return now.kernel if was.kernel == now.kernel else f"{was.kernel} -> {now.kernel}"


def _pair(console: Console, pair: Pair, *, rules: int) -> None:
    was, now = pair.longest
    heading = Text(safe_text(_name(pair)), style="bold")
    heading.append(f"  {launch_words(now.grid, now.block)}", style="not bold")
    heading.append(f"  {duration(pair.before_ns)} -> {duration(pair.after_ns)}", style="not bold")
    console.print(heading)
    console.print()
    sentence = change_sentence(pair)
    row(console, "Changed", Text(f"{safe_text(sentence)}."))
    if pair.prediction:
        row(console, "Advice", Text(f"{safe_text(prediction_words(pair.prediction))}."))
    for change in pair.rule_changes[:rules]:
        message = change.after if change.fires_after else change.before
        row(
            console,
            "Rule",
            Text(safe_text(f"{change.rule.code} {change.rule.name} {rule_change_words(change)}: {message}")),
        )
    further = [words for words in map(metric_change_words, pair.metric_changes) if words not in sentence]
    if further:
        row(console, "Also", Text(", ".join(further)))
    row(console, "Next", Text(safe_text(f"{step_words(now)}, before: {step_words(was)}")))


def _listed(launches: Iterable[LaunchDiagnosis]) -> Iterator[str]:
    """Each kernel once, with its number of launches."""
    for name, count in Counter(launch.kernel for launch in launches).items():
        yield safe_text(name) if count == 1 else f"{safe_text(name)} ({count:,} launches)"
