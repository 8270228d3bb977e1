"""From diagnosed reports to a ranking of the lines of the user's programs, and pages with it."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from math import nan
from pathlib import Path

import pytest

from ncuview.pipeline.history import history
from ncuview.records.profile import Device
from ncuview.records.program import Call
from ncuview.render import render
from ncuview.render.history import render_history
from ncuview.trends import History, history_of
from tests.command_line import ncuview
from tests.hostility.judges import check_history, check_log, check_markdown
from tests.render.schema import problems
from tests.trends.series_sample import called, launch, reported

FORMS = ("terminal", "markdown", "html")


@cache
def sample() -> History:
    """Two commits: line 12 runs two kernels and gets faster, line 7 is new at the second, one launch has no call."""
    first = reported("c0", [called(12, 4e6, "a"), called(12, 2e6, "b"), launch("other", 1e6)], day=0)
    second = reported("c1", [called(12, 1e6, "a"), called(7, 2e6, operator="mul"), called(9, nan)], day=1)
    return history_of([first, second])


def page(form: str, by: str = "call", found: History | None = None) -> str:
    assert by in {"call", "kernel"}
    text = render_history(found or sample(), form, by="call" if by == "call" else "kernel")
    return " ".join(text.replace("<!-- -->", "").replace("&#95;", "_").split())


def test_lines_are_ranked_by_their_kernel_time_over_all_reports() -> None:
    (series,) = sample().series
    costliest, other = series.calls
    assert (costliest.call.line, costliest.launches, costliest.kernels) == (12, 3, 2)
    assert (costliest.time_ns, costliest.times_ns) == (7e6, (6e6, 1e6))
    assert costliest.share == pytest.approx(0.7)
    assert (other.call.line, other.call.operator, other.times_ns) == (7, "mul", (0.0, 2e6))


def test_lines_of_different_gpus_are_apart() -> None:
    here, there = called(12, 4e6), replace(called(12, 1e6), device=Device("NVIDIA A100", "8.0"))
    found = history_of([reported("c0", [here, there, there], day=0)])
    times = {series.device.name: [call.time_ns for call in series.calls] for series in found.series}
    assert times == {"NVIDIA H200": [4e6], "NVIDIA A100": [2e6]}


@pytest.mark.parametrize("form", FORMS)
def test_pages_by_call_name_line_operator_share_launches_and_kernels(form: str) -> None:
    text = page(form)
    for words in ("train.py:12 attend (softmax)", "train.py:7 attend (mul)", "70%", "7 ms", "first", "newest"):
        assert words in text, words
    assert text.index("train.py:12") < text.index("train.py:7 ")


def test_lines_and_backward_passes_are_counted_apart() -> None:
    backward = called(0, 2e6, operator="mm")
    backward = replace(backward, call=Call("", 0, "", "mm", "MmBackward0"))
    text = page("terminal", found=history_of([reported("c0", [called(12, 4e6), backward], day=0)]))
    assert "1 line and 1 backward operator take 6 ms of kernels at 1 point, 100% of all." in text
    assert "backward of mm 33% 2 ms 1 1" in text


def test_a_time_of_nothing_is_blank() -> None:
    assert "train.py:7 attend (mul) 20% 2 ms 1 1 2 ms" in page("terminal")


@pytest.mark.parametrize("form", ["terminal", "markdown"])
def test_the_ranking_by_kernel_points_to_that_by_call(form: str) -> None:
    text = page(form, "kernel")
    assert "other" in text
    assert "train.py" not in text
    assert "--by call" in text
    assert "--by call" not in page(form, "kernel", history_of([reported("c0", [launch("k", 1e5)], day=0)]))


def test_the_html_page_has_both_rankings_and_begins_with_the_one_named() -> None:
    by_call, by_kernel = page("html"), page("html", "kernel")
    assert by_call.index('id="calls"') < by_call.index('id="kernels"')
    assert by_kernel.index('id="kernels"') < by_kernel.index('id="calls"')


def test_json_has_the_lines_in_any_case() -> None:
    text = render_history(sample(), "json")
    document = json.loads(text)
    assert not list(problems(document, "history"))
    (series,) = document["series"]
    assert [(call["call"]["line"], call["launches"], call["kernels"]) for call in series["calls"]] == [
        (12, 3, 2),
        (7, 1, 1),
    ]
    assert series["calls"][0]["times_ns"] == [6e6, 1e6]


def test_names_of_functions_are_inert_on_every_page() -> None:
    hostile = called(12, 4e6, operator="</script><script>alert(1)</script>")
    assert hostile.call is not None
    hostile = replace(hostile, call=replace(hostile.call, function="\x1b[2J[a](https://example.com) | ::error::x"))
    found = history_of([reported("c0", [hostile], day=0)])
    for form, check in (("terminal", check_log), ("markdown", check_markdown), ("html", check_history)):
        check(render_history(found, form, by="call"))


def test_saved_diagnoses_are_ranked_by_call(tmp_path: Path) -> None:
    for at, time in enumerate((4e6, 2e6)):
        made = reported(f"c{at}", [called(12, time)], day=at).diagnosis
        (tmp_path / f"c{at}.json").write_text(render(made, "json"), encoding="utf-8")
    (series,) = history(tmp_path).series
    assert [(call.call.line, call.times_ns) for call in series.calls] == [(12, (4e6, 2e6))]
    shown = ncuview("report", str(tmp_path), "--by", "call")
    assert shown.code == 0
    assert "train.py:12 attend (softmax)" in shown.out


def test_a_markdown_file_is_written_by_its_ending(tmp_path: Path) -> None:
    (tmp_path / "c0.json").write_text(render(reported("c0", [called(12, 4e6)]).diagnosis, "json"), encoding="utf-8")
    target = tmp_path / "page.md"
    assert ncuview("report", str(tmp_path), "--by", "call", "-o", str(target)).code == 0
    assert "| train.py:12" in target.read_text(encoding="utf-8").replace("`", "")


def test_without_call_stacks_there_is_nothing_to_rank_by_call(tmp_path: Path) -> None:
    made = reported("c0", [launch("k", 1e5)], day=0).diagnosis
    (tmp_path / "c0.json").write_text(render(made, "json"), encoding="utf-8")
    refused = ncuview("report", str(tmp_path), "--by", "call")
    assert refused.code == 3
    assert "no report has call stacks" in refused.err
