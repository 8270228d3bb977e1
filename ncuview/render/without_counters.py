"""Terminal page and JSON of ``WithoutCounters``: times by CUDA events and facts of machine code, without counters.

``without_counters_page`` returns the page, ``without_counters_document`` the JSON.

The page begins with the reason and the remedy and ends with the kernel's recorded ladder.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from ncuview.base.figures import duration
from ncuview.comparison.compare import launch_words
from ncuview.records.documents import without_counters as documents
from ncuview.records.profile import Device
from ncuview.records.schema import plain
from ncuview.render.document import ladder_document
from ncuview.render.ladder import ladder_page
from ncuview.render.terminal import page_console, page_text, row
from ncuview.render.text import json_text, safe_copy, safe_text
from ncuview.sass.idioms import KNOWN_CAPABILITY

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from ncuview.catalogue.live import EventTimes
    from ncuview.pipeline.without_counters import KernelFacts, LaunchFacts, RuleSubject, WithoutCounters
    from ncuview.records.ladder import Ladder
    from ncuview.records.profile import Failure

_DOCTOR = "`ncuview doctor` finds which of these applies here."
_NO_GAIN = "No gain is predicted: only counters show what these cost."
NOT_VISIBLE = (
    "Not visible without counters: the bottleneck and how near it is to its peak, coalescing of addresses that the"
    " program computes or loads, cache hits, divergence, stalls, the occupancy that is reached, and what a change would"
    " gain."
)
_ELSEWHERE = (
    f"Divisions and precise functions are recognised by what nvcc 13 emits for {KNOWN_CAPABILITY}; here some may be"
    " missed."
)
_NO_DECIMALS_FROM = 100
_KERNELS = 10
"""More kernels of a program than this are only named."""


def without_counters_page(report: WithoutCounters, *, width: int, color: bool) -> str:
    """The terminal page."""
    console = page_console(width, color=color)
    console.print(Text(safe_text(_provenance(report)), style="dim"))
    console.print()
    failures = [(part.what, part.failure) for part in report.missing]
    _refusal(console, report.refusal)
    report = safe_copy(report)
    if report.launch:
        console.print(_heading(report.launch))
        _times(console, report)
    for kernel in report.kernels[:_KERNELS]:
        _kernel(console, kernel, named=report.launch is None)
    if more := report.kernels[_KERNELS:]:
        row(
            console, "More", Text(", ".join(kernel.name for kernel in more) + ": --format json shows them"), style="dim"
        )
    for what, failure in failures:
        row(console, "Missing", Text(f"{safe_text(what)}: {_line(failure)}. {safe_text(failure.hint)}"), style="yellow")
    if report.remark:
        row(console, "Note", Text(f"{report.remark}."), style="dim")
    row(console, "Limits", Text(NOT_VISIBLE), style="dim")
    if report.ladder:
        console.print()
        console.print(Text("The recorded profile of the same kernel:", style="bold"))
        shown = _neighbours(report.ladder, report.subject)
        console.print(Text(ladder_page(shown, width=width, color=False).rstrip("\n")))
        row(console, "More", Text(f"ncuview ladder {report.ladder.family} --recorded"), style="dim")
    return page_text(console)


def without_counters_document(report: WithoutCounters) -> str:
    """The JSON document."""
    document = documents.WithoutCountersDocument(
        schema="ncuview.without_counters/2",
        subject=report.subject,
        error=report.refusal,
        remark=report.remark,
        launch=documents.OwnLaunch(**vars(report.launch)) if report.launch else None,
        times=_times_content(report.times) if report.times else None,
        kernels=tuple(_kernel_content(kernel) for kernel in report.kernels),
        untold=tuple(documents.MissingPart(part.what, part.failure) for part in report.missing),
        recorded_ladder=ladder_document(report.ladder) if report.ladder else None,
    )
    return json_text(plain(document))


def _provenance(report: WithoutCounters) -> str:
    where = [report.times.device] if report.times else []
    built = dict.fromkeys(f"compiled for {kernel.capability}" for kernel in report.kernels)
    return ", ".join([f"without counters: {report.subject}", *where, *built])


def _refusal(console: Console, refusal: Failure | None) -> None:
    if refusal is None:
        console.print(Text("ncu was not started, as requested: what follows needs no counters.", style="bold"))
    else:
        console.print(Text(f"No counters: {_line(refusal)} [{safe_text(refusal.id)}].", style="bold red"))
        row(console, "Remedy", Text(f"{safe_text(refusal.hint)} {_DOCTOR}"))
        console.print()
        console.print(Text("What is known without them:", style="bold"))
    console.print()


def _heading(launch: LaunchFacts) -> Text:
    heading = Text(launch.kernel, style="bold")
    heading.append(f"  {launch_words(launch.grid, launch.block)}", style="not bold")
    if launch.shared:
        heading.append(f", {launch.shared:,} bytes of dynamic shared memory", style="not bold")
    if launch.waves is not None:
        heading.append(f", {launch.waves:.3g} waves", style="not bold")
    return heading


def _times(console: Console, report: WithoutCounters) -> None:
    if report.times is None:
        return
    low, high = report.times.bounds_ns
    count = len(report.times.times_ns)
    words = f"{duration(report.times.median_ns)}, the median of {count} launches ({duration(low)} to {duration(high)})"
    if report.launch and report.launch.useful_rate is not None:
        digits = ",.0f" if report.launch.useful_rate >= _NO_DECIMALS_FROM else ",.3g"
        words += f", {report.launch.useful_rate:{digits}} {report.launch.rate_unit} useful"
    row(console, "Time", Text(words))
    row(console, "", Text("by CUDA events, with cold caches; a launch adds some microseconds"), style="dim")


def _kernel(console: Console, kernel: KernelFacts, *, named: bool) -> None:
    if named:
        console.print(Text(kernel.name, style="bold"))
    row(console, "Code", Text(_code_words(kernel)))
    row(console, "Occupied", Text(_occupancy_words(kernel, launched=not named)))
    for place, subject in enumerate(kernel.subjects):
        row(console, "" if place else "Shows", _subject_words(subject))
    if kernel.subjects:
        elsewhere = "" if kernel.capability == KNOWN_CAPABILITY else f" {_ELSEWHERE}"
        row(console, "", Text(_NO_GAIN + elsewhere), style="dim")


def _code_words(kernel: KernelFacts) -> str:
    parts = [f"{kernel.instructions:,} instructions", f"{kernel.registers} registers per thread", _spill_words(kernel)]
    if kernel.stack:
        parts.append(f"{kernel.stack:,} bytes of local memory per thread")
    if kernel.shared:
        parts.append(f"{kernel.shared:,} bytes of static shared memory")
    if kernel.barriers:
        parts.append(f"{kernel.barriers} barrier{'s' if kernel.barriers > 1 else ''}")
    return ", ".join(parts)


def _spill_words(kernel: KernelFacts) -> str:
    if kernel.spilled is None:
        return "spills that cannot be distinguished from arrays in local memory"
    stored, loaded = kernel.spilled
    return f"{stored:,} bytes of spill stores and {loaded:,} of loads" if stored or loaded else "no spills"


def _occupancy_words(kernel: KernelFacts, *, launched: bool) -> str:
    filled = kernel.occupancy
    if filled is None:
        return f"unknown: the limits of compute capability {kernel.capability} are not known"
    if filled.blocks == 0:
        return f"no block of {kernel.threads} threads fits: too much of {_listed(filled.limited_by)}"
    fit = "one block fits" if filled.blocks == 1 else f"{filled.blocks} blocks fit"
    how = fit if launched else f"with blocks of {kernel.threads} threads"
    limited = f", limited by {_listed(filled.limited_by)}" if filled.share < 1 else ""
    return f"{filled.share:.0%} of the warp slots at most: {how}{limited}"


def _listed(words: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _subject_words(subject: RuleSubject) -> Text:
    words = Text(subject.says)
    words.append(f"  ({subject.rule.name}, {subject.rule.code})", style="dim")
    for place in subject.where[:1]:
        words.append(f"\n{place.file}:{place.line}  {place.code}", style="cyan")
    return words


def _neighbours(ladder: Ladder, kernel: str) -> Ladder:
    """The ladder reduced to the kernel's step and the steps that follow from it."""
    own = next(step for step in ladder.steps if step.kernel == kernel)
    reached = {own.better, *(step.kernel for step in own.textbook_steps)}
    others = {
        step.kernel: replace(step, better="", measured_speedup=None, textbook_steps=())
        for step in ladder.steps
        if step.kernel in reached
    }
    others[kernel] = own
    return replace(
        ladder, remark="", steps=tuple(others[step.kernel] for step in ladder.steps if step.kernel in others)
    )


def _line(failure: Failure) -> str:
    """A failure's message on one line, without its full stop."""
    return safe_text(" ".join(failure.message.split())).removesuffix(".")


def _times_content(times: EventTimes) -> documents.Times:
    low, high = times.bounds_ns
    return documents.Times(
        device=Device(times.device, times.capability),
        multiprocessors=times.multiprocessors,
        median_ns=times.median_ns,
        low_ns=low,
        high_ns=high,
        times_ns=times.times_ns,
    )


def _kernel_content(kernel: KernelFacts) -> documents.KernelCode:
    filled = kernel.occupancy
    changed = {
        "spilled": documents.Spilled(*kernel.spilled) if kernel.spilled is not None else None,
        "occupancy": documents.TheoreticalOccupancy(**vars(filled), limited_by=filled.limited_by) if filled else None,
        "subjects": tuple(_subject_content(subject) for subject in kernel.subjects),
    }
    return documents.KernelCode(**{**vars(kernel), **changed})


def _subject_content(subject: RuleSubject) -> documents.Subject:
    where = tuple(documents.CodeLocation(**vars(place)) for place in subject.where)
    return documents.Subject(
        rule=subject.rule.code,
        optimization=subject.optimization,
        says=subject.says,
        in_loop=subject.in_loop,
        where=where,
        name=subject.rule.name,
    )
