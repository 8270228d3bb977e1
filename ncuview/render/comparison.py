"""Terminal page of a ``Comparison`` (``comparison_page``): provenance, total time, a table of pairs, largest changes.

Other pages use its sentences: ``prediction_words`` compares prediction and measurement, ``sides`` names both
sides, ``total_sentence`` their times, ``only_lines`` launches without a partner, and ``faster_words`` a speedup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from math import fsum, isfinite
from typing import TYPE_CHECKING

from rich.table import Column, Table
from rich.text import Text

from ncuview.base.figures import duration, factor
from ncuview.base.paths import shown_path
from ncuview.comparison.compare import Comparison, Pair, extent_words, launch_words
from ncuview.comparison.metric_words import metric_change_words
from ncuview.records.diagnosis import Diagnosis
from ncuview.render.change_words import change_sentence, rule_change_words, time_words
from ncuview.render.terminal import page_console, page_text, plain_table, print_gaps, row
from ncuview.render.text import safe_text
from ncuview.render.words import Detail, provenance, step_words

if TYPE_CHECKING:
    from rich.console import Console

_PAGES = 3
_RULES = 3
_ONLY = 12
"""Launches without a partner are named up to this number of kernels and configurations."""


def comparison_page(comparison: Comparison, *, width: int, color: bool, detail: Detail = "normal") -> str:
    """The sources of both sides, total time, a table of pairs, and the pairs whose time changed most in full.

    ``verbose`` shows all pairs in full; ``quiet`` has a line for each pair and nothing else but caveats.
    """
    console = page_console(width, color=color)
    if detail == "quiet":
        _print_quiet(console, comparison)
        return page_text(console)
    for line, side in sides(comparison):
        console.print(Text(line), style="dim")
        print_gaps(console, side)
    for line in _caveats(comparison):
        console.print(Text(safe_text(line)), style="yellow")
    console.print()
    console.print(Text(safe_text(total_sentence(comparison))))
    if len(comparison.pairs) > 1:
        console.print()
        console.print(_overview(comparison.pairs))
    verbose = detail == "verbose"
    shown = comparison.pairs if verbose else _largest_changes(comparison.pairs)
    for pair in shown:
        console.print()
        _pair(console, pair, rules=len(pair.rule_changes) if verbose else _RULES)
    for line in only_lines(comparison):
        console.print()
        console.print(Text(safe_text(line)))
    if more := len(comparison.pairs) - len(shown):
        console.print()
        console.print(f"{more} more {'pair' if more == 1 else 'pairs'}: -v shows all of them.", style="dim")
    return page_text(console)


def _print_quiet(console: Console, comparison: Comparison) -> None:
    """A line for each pair, one for the kernels of each side alone, and what the comparison does not rest on."""
    names = Counter(map(_name, comparison.pairs))
    pairs = (_short_line(pair, named_grid=names[_name(pair)] > 1) for pair in comparison.pairs)
    for line in (*_caveats(comparison), *pairs, *only_lines(comparison)):
        console.print(Text(safe_text(line)), soft_wrap=True)


def _short_line(pair: Pair, *, named_grid: bool) -> str:
    """``transpose  327.6 us -> 143.5 us  2.28x faster``, and whether the prediction of the advice taken held."""
    changed = "unchanged" if pair.is_noise else faster_words(pair.speedup) if isfinite(pair.speedup) else "time unknown"
    held = f", {_VERDICTS[pair.prediction.verdict]}" if pair.prediction else ""
    grid = f" ({extent_words(pair.longest[1].grid)})" if named_grid else ""
    return f"{_name(pair)}{grid}  {duration(pair.before_ns)} -> {duration(pair.after_ns)}  {changed}{held}"


def _largest_changes(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """The pairs whose time changed most; the first where none changed."""
    return [pair for pair in pairs[:_PAGES] if not pair.is_noise] or pairs[:1]


_VERDICTS = {
    "kept": "within the prediction",
    "more than promised": "above the prediction",
    "not kept": "below the prediction",
}
_EVIDENCE = {
    "gone": "The counters show that it was made: its evidence is gone.",
    "smaller": "The counters show that it was made in part: its evidence is smaller.",
    "unknown": "Whether it was made is unknown: its rule could not judge the launch after.",
}


def prediction_words(pair: Pair) -> str:
    """``shared_memory_padding: 2.17x predicted (1.59x to 2.97x), 2.28x measured, within the prediction. ...``.

    It names the other findings that changed, since the measured speedup is that of all changes; empty where no advice
    was taken.
    """
    check = pair.prediction
    if check is None:
        return ""
    predicted = check.predicted
    words = (
        f"{check.optimization}: {factor(predicted.best)} predicted"
        f" ({predicted.bounds}), {factor(check.measured)} measured,"
        f" {_VERDICTS[check.verdict]}. {_EVIDENCE[check.evidence]}"
    )
    others = [f"{each.rule.name} {rule_change_words(each)}" for each in pair.rule_changes if each.rule != check.rule]
    more = [f"and {len(others) - _RULES} more"] if len(others) > _RULES else []
    if not others:
        return words
    return f"{words} The measured speedup includes other changes: {', '.join([*others[:_RULES], *more])}."


def sides(comparison: Comparison) -> Iterator[tuple[str, Diagnosis]]:
    """Each side after the line that names it: its kernel or report, GPU, date and version of ncu; safe to print."""
    both = (comparison.before, comparison.after)
    paths = [_path(side) for side in both]
    names = [path.replace(chr(92), "/").rpartition("/")[2] for path in paths]
    kernels = comparison.two_kernels or ("", "")
    files = names if names[0] != names[1] or paths[0] == paths[1] else paths
    for label, side, kernel, file in zip(("before", "after"), both, kernels, files, strict=True):
        subject = f"{kernel} in {file}" if kernel and file else kernel or file
        yield f"{label}: {provenance(side.reports, side.launches, side.remark, subject=subject)}", side


def _path(side: Diagnosis) -> str:
    """The path of the only report of a side, or the number of its reports; empty where it was profiled here."""
    if any(launch.origin != "report" for launch in side.launches):
        return ""
    return shown_path(side.reports[0].path) if len(side.reports) == 1 else f"{len(side.reports)} reports"


def total_sentence(comparison: Comparison) -> str:
    """The time of all launches that have a partner, before and after."""
    timed = [pair for pair in comparison.pairs if isfinite(pair.speedup)]
    was, now = fsum(pair.before_ns for pair in timed), fsum(pair.after_ns for pair in timed)
    launches = sum(len(pair.before) for pair in timed)
    if not launches:
        return "No launch of known duration is in both."
    if comparison.two_kernels:
        before, after = comparison.two_kernels
        each = "" if launches == 1 else f"{launches:,} launches of "
        return f"{each}{before} {duration(was)}, {each}{after} {duration(now)}: {faster_words(was / now)}."
    number = "1 launch" if launches == 1 else f"{launches:,} launches"
    return f"{number} in both: {duration(was)} before, {duration(now)} after, {faster_words(was / now)}."


def only_lines(comparison: Comparison) -> Iterator[str]:
    """The launches without a partner on each side, once for each kernel, grid and block, with how often it ran."""
    for label, launches in (("before", comparison.only_before), ("after", comparison.only_after)):
        if not launches:
            continue
        counts = Counter((launch.kernel, launch_words(launch.grid, launch.block)) for launch in launches)
        shown = [
            f"{kernel}{f' with {where}' if where else ''}{f' ({count:,} launches)' if count > 1 else ''}"
            for (kernel, where), count in list(counts.items())[:_ONLY]
        ]
        more = [f"and {len(counts) - _ONLY:,} more"] if len(counts) > _ONLY else []
        yield f"Only {label}: {'; '.join([*shown, *more])}"


def _caveats(comparison: Comparison) -> Iterator[str]:
    if comparison.differences:
        yield f"Compared by force: {'; '.join(comparison.differences)}."
    if comparison.unknown:
        yield f"Not checked, since a report does not give it: {', '.join(comparison.unknown)}."


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
        row(console, "Advice", Text(safe_text(prediction_words(pair))))
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
