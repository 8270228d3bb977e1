"""Rare launches on every page: timed by the host, of unknown time, without lines, alone or many."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from io import StringIO
from math import nan
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import ncuview
from ncuview.base.errors import UsageError
from ncuview.base.paths import shipped
from ncuview.catalogue.kernel_file import load_kernels
from ncuview.cli import printing
from ncuview.cli.printing import color, discard_stdout, print_text, width
from ncuview.comparison.compare import compare
from ncuview.comparison.counters import MetricChange
from ncuview.comparison.metric_words import metric_change_words
from ncuview.engine.priority import priorities
from ncuview.engine.rule_file import find_rule, load_rules
from ncuview.programs.rule_file import program_rules
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis, HotInstruction, LaunchDiagnosis, SourceEdit, TextbookMetric
from ncuview.records.ladder import Ladder
from ncuview.records.profile import Attained, Calibration, Device, Figure, HostTimes, ReportInfo
from ncuview.render import render
from ncuview.render.calibration import calibration_page
from ncuview.render.history import render_history
from ncuview.render.html_report import html_report
from ncuview.render.html_report.roofline import counted_operations, rooflines
from ncuview.render.html_report.roofline_chart import _roof_lines
from ncuview.render.html_report.rows import rows_of
from ncuview.render.lists import families_page, kernels_json, rule_page, rules_json, rules_page
from ncuview.render.markdown import COMMENT, markdown
from ncuview.render.notebook import launch_html
from ncuview.render.outputs import FORMATS, output_text
from ncuview.trends import DiagnosedReport, History, history_of
from tests.builders import FILE, Launch, make_profile, store
from tests.render.report_pages import recorded
from tests.render.sample import advice_finding, diagnosis, ladder, launch_near_peak, launch_unclear, launch_with_advice

HOST = HostTimes(1e6, 5e5, 1e6, 2.2e6)
DIFF = "--- a/x.cu\n+++ b/x.cu\n@@ -1 +1 @@\n-a[32]\n+a[33]\n"


def with_finding(**changes: Any) -> LaunchDiagnosis:
    return replace(launch_with_advice(), outcomes=(replace(advice_finding(), **changes),))


def of(*launches: LaunchDiagnosis) -> Diagnosis:
    return Diagnosis(launches, diagnosis().reports)


def html(answer: Diagnosis) -> str:
    return html_report(answer)


def plain(answer: Diagnosis) -> str:
    return " ".join(render(answer).split())


def notebook(answer: Diagnosis) -> str:
    return launch_html(answer.launches[0])


def comment(answer: Diagnosis) -> str:
    return markdown(answer, None, COMMENT)


every_page = pytest.mark.parametrize("page", [plain, html, notebook, comment])


@pytest.mark.parametrize("page", [plain, html])
def test_times_of_the_host_are_shown(page: Callable[[Diagnosis], str]) -> None:
    launch = replace(launch_with_advice(), host=HOST, bottleneck="transfer")
    text = page(of(launch))
    assert "copies in " in text
    assert " in all; gains refer to this time" in text
    assert "The bottleneck is transfer: the copies between host and device take the time" in text
    assert "GB/s useful" not in text


@pytest.mark.parametrize("page", [plain, html, comment])
def test_a_change_of_the_source_is_shown(page: Callable[[Diagnosis], str]) -> None:
    assert "a[33]" in page(of(with_finding(edit=SourceEdit("Pad it", DIFF, "n is even"))))
    assert "a[33]" in page(of(with_finding(edit=SourceEdit("Pad it", DIFF))))
    assert "a[33]" not in page(of(with_finding(edit=SourceEdit(reason="the tile has no name"))))


@every_page
def test_a_finding_without_any_line_is_shown(page: Callable[[Diagnosis], str]) -> None:
    text = page(of(with_finding(where=(), instructions=(), lines_wanted="")))
    assert "Pad the tile by one column" in text
    assert "coalesced.cu" not in text


@every_page
def test_a_line_without_those_around_it(page: Callable[[Diagnosis], str]) -> None:
    (line, *_) = advice_finding().where
    assert "coalesced.cu:63" in page(of(with_finding(where=(replace(line, around=()),))))


@pytest.mark.parametrize("page", [plain, html, notebook])
def test_the_textbook_step_is_shown(page: Callable[[Diagnosis], str]) -> None:
    assert "The documents tile it first." in page(
        of(replace(launch_near_peak(), textbook=("The documents tile it first.",)))
    )


def test_useful_operations_are_preferred_to_useful_bytes() -> None:
    metrics = {"useful_flops": TextbookMetric(5e12, "flop/s", "x"), "effective_bandwidth": TextbookMetric(1e12, "", "")}
    text = plain(of(replace(launch_near_peak(), metrics=metrics)))
    assert "5,000 GFLOP/s useful" in text
    assert "GB/s useful" not in text


def test_a_launch_without_any_outcome_has_no_list_of_them() -> None:
    assert "Other advice" not in html(of(replace(launch_near_peak(), outcomes=())))


def test_launches_beyond_those_profiled_are_counted_and_left_out_of_the_total() -> None:
    launch = launch_near_peak()
    launched = {(launch.demangled, launch.grid, launch.block): 10}
    text = html(Diagnosis((launch, replace(launch, index=7)), diagnosis().reports, launched=launched))
    assert "2 that were profiled of 10" in text
    unseen = {**launched, ("other(int)", (1, 1, 1), (1, 1, 1)): 5}
    assert "5 launches were not profiled" in html(Diagnosis((launch,), diagnosis().reports, launched=unseen))


def test_two_ladders_of_which_one_has_neither_advice_nor_measurement() -> None:
    first = ladder()
    steps = tuple(replace(each, diagnosis=launch_near_peak()) for each in first.steps)
    unmeasured = replace(first, steps=(replace(first.steps[0], measured_speedup=None, better=""),))

    def page(*ladders: Ladder) -> str:
        return html_report(Diagnosis((), ()), None, ladders)

    assert page(first, replace(first, steps=steps)).count("Chart of ") == 1
    measured = '<path class="measured"'
    assert page(first, unmeasured).count(measured) == page(first).count(measured) + page(unmeasured).count(measured)
    assert page(unmeasured).count(measured) < page(first).count(measured)


def launched(number: int, time_ns: float, **changes: Any) -> LaunchDiagnosis:
    return replace(launch_near_peak(), kernel=f"k{number}", demangled=f"k{number}(int)", duration_ns=time_ns, **changes)


def test_comparisons_by_force_of_many_kernels_some_of_which_are_gone() -> None:
    was = of(*(launched(number, 1e5, grid=(256 + number, 1, 1)) for number in range(15)))
    gpu = Device("NVIDIA H100", "9.0")
    now = of(*(launched(number, 2e5, device=gpu, grid=(256 + number, 1, 1)) for number in range(1, 15)))
    made = compare(was, now, force=True)
    page = html_report(now, comparison=made)
    assert "Compared by force" in page
    assert "2 more, whose time changed less" in page
    assert "Only before: k0" in page
    assert "Only after: k0" in html_report(was, comparison=compare(now, was, force=True))
    assert "Compared by force" in markdown(made, None, COMMENT)
    assert "GPU" in render(made)


def test_comparisons_of_unknown_times() -> None:
    made = compare(of(launched(0, nan)), of(launched(0, nan)))
    for text in (html_report(made.after, comparison=made), render(made), markdown(made, None, COMMENT)):
        assert "No launch of known duration is in both" in text


@pytest.mark.parametrize(
    ("unit", "was", "now", "shown"),
    [
        ("ratio 0-1", 0.25, 0.75, "x 25% -> 75%"),
        ("%", 25.0, 100.0, "x 25% -> 100%"),
        ("byte", None, 2e6, "x none -> 2 MB"),
        ("ns", 1e6, 2.5e3, "x 1 ms -> 2.5 us"),
    ],
)
def test_a_changed_metric_has_its_unit(unit: str, was: float | None, now: float, shown: str) -> None:
    assert metric_change_words(MetricChange("x", "x", was, now, unit, 1.0, exact=True)) == shown


def test_kernels_without_a_place_under_the_roof_say_why() -> None:
    real = recorded("matmul")[1].launches[0]

    def without(number: int, *names: str, **values: float) -> LaunchDiagnosis:
        kept = {name: metric for name, metric in real.metrics.items() if name not in names}
        changed = {name: TextbookMetric(value, "", name) for name, value in values.items()}
        return replace(real, kernel=f"k{number}", demangled=f"k{number}()", metrics={**kept, **changed})

    launches = (
        replace(without(1), duration_ns=nan),
        without(2, "dram_read_bytes"),
        without(3, dram_read_bytes=0.0, dram_write_bytes=0.0),
        without(4, "useful_flops", "flop_count_sp", "flop_count_dp"),
        without(5, flop_count_sp=0.0, flop_count_dp=0.0),
        without(6, flop_count_sp=1e6, flop_count_dp=0.0),
        without(7, flop_count_sp=1e6, flop_count_dp=2e9),
    )
    page = html(of(*launches, *(replace(each, device=Device("", "")) for each in launches)))
    for reason in (
        "their duration is not known",
        "their bytes of device memory were not counted",
        "they transferred nothing to or from device memory",
        "their floating-point operations were not counted",
        "they do no FP32 or FP64 arithmetic",
    ):
        assert reason in page
    assert "unknown GPU" in page


def test_a_rule_that_still_fires_costs_less_or_more() -> None:
    def side(time_ns: float, best: float) -> Diagnosis:
        gain = replace(advice_finding().predicted_speedup, low=1.1, best=best, high=best)
        return of(replace(with_finding(predicted_speedup=gain), duration_ns=time_ns))

    assert "costs less" in render(compare(side(4e5, 3.0), side(2e5, 1.5)))
    assert "costs more" in render(compare(side(2e5, 1.5), side(4e5, 3.0)))


def test_a_calibration_of_which_all_was_measured() -> None:
    shares, figures = {"dram": Attained(0.8, 0.9, 0.95, "dramRead")}, {"launch_ns": Figure(1.0, "empty")}
    complete = Calibration("NVIDIA H200", "2026-11-21", shares, figures)
    assert "not measured are those" not in calibration_page(complete, 100)
    assumed = replace(complete, shares={"dram": Attained(0.8, 0.9, 0.95, "", "it was not launched")})
    assert "not measured are those" in calibration_page(assumed, 100)


def test_the_lists_of_kernels_and_rules() -> None:
    kernels = load_kernels(shipped("kernels") / "access_patterns" / "load_strided.cu")
    assert "load_strided[stride=16]" in families_page(kernels, 100)
    assert '"name": "load_strided"' in kernels_json(kernels)
    rules = load_rules()
    page = rules_page(rules, program_rules(), 100)
    assert page.index("SMEM001") < page.index("PROG004")
    document = json.loads(rules_json(rules, program_rules()))
    assert "SMEM001" in {each["code"] for each in document["rules"]}
    assert [each["code"] for each in document["program_rules"]] == [f"PROG{number:03}" for number in range(1, 18)]
    page = rule_page(find_rule(rules, "smem001"), 80)
    assert page.startswith("SMEM001 shared-bank-conflict: shared_memory_padding\n")
    assert "Taught in\n---------" in page


def test_many_launches_are_ranked_and_json_is_a_format_too() -> None:
    many = of(*(replace(launch_near_peak(), index=at, kernel=f"k{at}", demangled=f"k{at}()") for at in range(60)))
    assert "60 kernels" in render(many) or "k0" in render(many)
    assert len(render(many).splitlines()) < 200
    assert render(diagnosis(), "json") == output_text(diagnosis(), None, "json")


@pytest.mark.parametrize("to", FORMATS)
def test_every_format_has_its_writer(to: str) -> None:
    content = output_text(diagnosis(), None, to)
    assert isinstance(content, bytes) == FORMATS[to].binary
    assert len(content) > 100


class Closed(StringIO):
    """A stream that cannot be written, for a reason."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self._error = error

    def write(self, _: str) -> int:
        raise self._error


def test_an_answer_that_cannot_be_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    discarded: list[bool] = []
    monkeypatch.setattr(printing, "discard_stdout", lambda: discarded.append(True))
    monkeypatch.setattr(sys, "stdout", Closed(BrokenPipeError()))
    with pytest.raises(BrokenPipeError):
        print_text("x")
    assert not discarded
    monkeypatch.setattr(sys, "stdout", Closed(OSError(28, "No space left on device")))
    with pytest.raises(UsageError, match="No space left on device"):
        print_text("x")
    assert discarded


def test_the_terminal_s_width_and_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for columns, used in ((10, 40), (70, 70), (300, 120)):
        monkeypatch.setenv("COLUMNS", str(columns))
        assert width() == used
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(os, "environ", {"TERM": "xterm"})
    assert color()
    for variables in ({"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}):
        monkeypatch.setattr(os, "environ", variables)
        assert not color()


def test_unclear_launches_have_a_page() -> None:
    assert "latencyBound" in html(of(launch_unclear()))


@pytest.mark.parametrize("page", [plain, html])
def test_instructions_of_no_line_are_shown_with_the_way_to_lines(page: Callable[[Diagnosis], str]) -> None:
    hot = HotInstruction(0x2A0, "LDG.E R9, desc[UR6][R4.64]", 0.625)
    text = page(of(with_finding(where=(), instructions=(hot,), lines_wanted="compile with -lineinfo")))
    assert "LDG.E R9" in text
    assert "(compile with -lineinfo)" in text


WITHOUT_LINES = {
    "no source": Launch(),
    "a source that ends before": Launch(instructions=(store(line=3),), sources={FILE: "a"}),
    "no instructions": Launch(instructions=()),
    "no counts": Launch().without("inst_executed"),
}


@pytest.mark.parametrize("launch", WITHOUT_LINES.values(), ids=WITHOUT_LINES)
def test_a_page_without_lines_has_no_lines(launch: Launch) -> None:
    profile = make_profile(launch)
    text = html_report(ncuview.diagnose(profile), profile=profile)
    assert '"lines":' not in text
    assert '"files":{}' in text


def test_without_threads_counted_there_are_no_operations() -> None:
    assert counted_operations(make_profile(Launch(instructions=()))) == {}


def test_changes_that_are_not_in_the_sentence_are_listed_below_it() -> None:
    made = compare(of(launched(0, 4e5)), of(launched(0, 1e5)))
    (pair,) = made.pairs
    further = MetricChange("x", "bytes read", 8e6, 2e6, "byte", 1.0, exact=True)
    text = render(replace(made, pairs=(replace(pair, metric_changes=(*pair.metric_changes, further)),)))
    assert "bytes read 8 MB -> 2 MB" in text


def test_many_kernels_that_come_and_ranks_that_are_even() -> None:
    old, new = launched(0, 1e6), [launched(number, 1e5) for number in range(1, 20)]
    series = history_of(
        [
            DiagnosedReport(point, "rank 0", Diagnosis(launches, (ReportInfo(point, "2025.3.1", created),)), Settings())
            for point, launches, created in (
                ("a", (old,), datetime(2026, 11, 1, tzinfo=UTC)),
                ("b", (old, *new), datetime(2026, 11, 2, tzinfo=UTC)),
            )
        ]
    )
    assert "and 11 more" in render_history(series)
    assert "no rank takes much longer" in " ".join(render_history(_of_two_ranks(), "html").split())


def _of_two_ranks() -> History:
    created = datetime(2026, 11, 1, tzinfo=UTC)
    return history_of(
        DiagnosedReport("a", rank, Diagnosis((launched(0, 1e6),), (ReportInfo(rank, "2025.3.1", created),)), Settings())
        for rank in ("rank 0", "rank 1")
    )


def test_discarded_output_goes_nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "out"
    with file.open("w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        discard_stdout()
        stream.write("x")
    assert file.read_text() == ""


def test_a_ladder_is_a_page_of_its_own() -> None:
    assert "Chart of transpose" in str(output_text(ladder(), None, "html"))


def test_a_roof_that_all_kernels_are_above_has_no_words_about_memory() -> None:
    (line,) = rooflines(rows_of(recorded("matmul")[1], priorities(recorded("matmul")[1]), None), {})

    def texts(bottom: float) -> list[str]:
        parts = _roof_lines(line.roof, 0.1, 1000.0, bottom, lambda x: x, lambda y: y)
        return [part.text or "" for part in parts if part.tag == "text"]

    assert any("memory attainable" in text for text in texts(1e9))
    assert not any("memory attainable" in text for text in texts(1e15))
