"""JSON document of a ``History`` (``history_json``): points, kernels, times and steps over reports, per GPU."""

from __future__ import annotations

from ncuview.base.paths import shown_path
from ncuview.records.documents import Place
from ncuview.records.documents import history as histories
from ncuview.records.schema import plain
from ncuview.render.change_words import change_sentence
from ncuview.render.document import call_document
from ncuview.render.text import json_text, known
from ncuview.trends import CallTrend, History, KernelTrend, Point, Reading, Series, Step


def history_json(history: History) -> str:
    """One JSON document, without NaN or infinity."""
    series = tuple(_series(each) for each in history.series)
    return json_text(plain(histories.HistoryDocument("ncuview.history/2", history.failures, series)))


def _series(series: Series) -> histories.HistorySeries:
    return histories.HistorySeries(
        device=series.device,
        points=tuple(_point(point) for point in series.points),
        breaks=tuple(histories.ConditionsChange(each.at, each.words) for each in series.breaks),
        kernels=tuple(_kernel(kernel) for kernel in series.kernels),
        calls=tuple(map(_call, series.calls)),
    )


def _call(each: CallTrend) -> histories.HistoryCall:
    return histories.HistoryCall(
        call_document(each.call), each.launches, each.kernels, each.time_ns, each.share, each.times_ns
    )


def _point(point: Point) -> histories.HistoryPoint:
    return histories.HistoryPoint(
        name=point.name,
        created=point.created,
        ncu_version=point.ncu,
        settings=histories.Conditions(**vars(point.settings)),
        ranks=point.ranks,
        reports=tuple(shown_path(report.path) for report in point.reports),
        launches=point.launches,
        time_ns=point.time_ns,
    )


def _kernel(kernel: KernelTrend) -> histories.HistoryKernel:
    return histories.HistoryKernel(
        kernel=kernel.kernel,
        demangled=kernel.demangled,
        grid=kernel.grid,
        block=kernel.block,
        work=kernel.group,
        works=kernel.groups,
        readings=tuple(_reading(reading) for reading in kernel.readings),
        steps=tuple(_step(step) for step in kernel.steps),
    )


def _reading(reading: Reading) -> histories.HistoryReading:
    advice = reading.launch.findings[0] if reading.launch.findings else None
    return histories.HistoryReading(
        at=reading.at,
        time_ns=known(reading.time_ns),
        launches=reading.launches,
        noise_ns=known(reading.noise_ns),
        bottleneck=reading.launch.bottleneck,
        verdict=reading.launch.verdict,
        optimization=advice.optimization if advice else None,
        rule=advice.rule.code if advice else None,
        predicted_speedup=advice.predicted_speedup if advice else None,
        ranks=reading.ranks,
        imbalance=reading.imbalance,
        example=Place(shown_path(reading.launch.report), reading.launch.index),
    )


def _step(step: Step) -> histories.HistoryStep:
    return histories.HistoryStep(
        at=step.at,
        since=step.since,
        before_ns=step.before_ns,
        after_ns=step.after_ns,
        noise_ns=step.noise_ns,
        confirmed=step.is_confirmed,
        sentence=change_sentence(step.pair),
    )
