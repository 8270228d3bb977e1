"""The HTML report: complete without a script, inert whatever names say, in one file, and within its size limit."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html as lxml_html

from ncuview.comparison.compare import compare
from ncuview.engine.priority import priorities
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis, TextbookMetric
from ncuview.records.gate import Gate
from ncuview.records.profile import Failure
from ncuview.render.html_report import html_report
from ncuview.render.html_report.data import amount
from ncuview.render.html_report.elements import element, markup, section
from ncuview.render.html_report.lines import LineData
from ncuview.render.html_report.page import page
from ncuview.render.html_report.roofline import counted_operations, rooflines
from ncuview.render.html_report.rows import DETAILED, LISTED, rows_of
from ncuview.render.html_report.units import attainable_bounds
from tests.builders import Instruction, Launch, make_profile
from tests.hostile import each_hostile_text, poisoned
from tests.render.report_pages import (
    catalogue,
    catalogue_page,
    check,
    gate,
    page_of_very_many,
    recorded,
    recorded_page,
    sample_page,
    very_many,
)
from tests.render.sample import diagnosis, ladder, launch_near_peak, launch_unclear, launch_with_advice

MEGABYTE = 1 << 20
TAGS = {
    *("html", "head", "meta", "title", "link", "style", "script", "body", "header", "nav", "main", "section"),
    *(
        "a",
        "ul",
        "ol",
        "li",
        "h1",
        "h2",
        "h3",
        "p",
        "div",
        "span",
        "small",
        "strong",
        "em",
        "code",
        "pre",
        "ins",
        "del",
    ),
    *("table", "caption", "thead", "tbody", "tr", "th", "td", "dl", "dt", "dd", "details", "summary"),
    *("form", "label", "input", "select", "option", "button", "output"),
    *("svg", "rect", "line", "circle", "path", "text"),
}
ATTRIBUTES = {
    *("lang", "charset", "http-equiv", "content", "name", "rel", "href", "type", "id", "class", "tabindex", "role"),
    *("scope", "colspan", "open", "hidden", "value", "placeholder", "autocomplete", "data-sort", "data-sortable"),
    *("data-value", "data-filters", "data-points", "data-print", "data-verdict", "data-advice", "data-bottleneck"),
    *("data-gate", "data-words", "aria-label", "aria-labelledby", "aria-hidden", "aria-live", "aria-sort"),
    *("aria-expanded", "aria-controls", "viewbox", "preserveaspectratio", "x", "y", "x1", "x2", "y1", "y2", "width"),
    *("height", "cx", "cy", "r", "d", "transform", "text-anchor"),
}
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def parsed(text: str) -> Any:
    return lxml_html.document_fromstring(text)


def words(tree: Any) -> str:
    """The text that a reader sees, without the script's."""
    return " ".join(" ".join(tree.xpath("descendant-or-self::body//text()[not(parent::script)]")).split())


def data_of(tree: Any) -> Any:
    return json.loads(tree.get_element_by_id("data").text)


def check_inert(text: str, more: frozenset[str] = frozenset()) -> Any:
    """Only what the report itself writes is markup, nothing is fetched, and only its own script and style may run.

    ``more`` are attributes that another page of ours has.
    """
    assert not UNSEEN.search(text)
    text.encode("utf-8")
    tree = parsed(text)
    elements = [each for each in tree.iter() if isinstance(each.tag, str)]
    assert {each.tag for each in elements} <= TAGS
    assert {name.lower() for each in elements for name in each.attrib} <= ATTRIBUTES | more
    assert len(tree.xpath("//script")) == 2
    assert len(tree.xpath("//style")) == 1
    hrefs = [each.get("href") for each in elements if each.get("href")]
    assert all(href.startswith("#") or href == "data:," for href in hrefs)
    ids = [each.get("id") for each in elements if each.get("id")]
    assert len(ids) == len(set(ids))
    assert {href[1:] for href in hrefs if href.startswith("#")} <= set(ids)
    (policy,) = tree.xpath("//meta[@http-equiv='Content-Security-Policy']/@content")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for rule, tag in (("style-src", "style"), ("script-src", "script[not(@type)]")):
        (content,) = tree.xpath(f"//{tag}/text()")
        assert rules[rule] == f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"
    data_of(tree)
    return tree


PAGES = {
    "sample": sample_page,
    "recorded": lambda: recorded_page("transpose"),
    "nothing": lambda: html_report(Diagnosis((), ())),
}


@pytest.mark.parametrize("make", PAGES.values(), ids=PAGES)
def test_a_page_is_one_file_that_fetches_nothing(make: Any) -> None:
    check_inert(make())
    assert not re.search(r"https?:|url\(|@import|innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", make())


@each_hostile_text
def test_no_text_from_outside_becomes_markup(text: str) -> None:
    bad = poisoned(diagnosis(), text)
    both = compare(bad, bad)
    check_inert(html_report(bad, poisoned_gate(text), [poisoned(ladder(), text)], both))


def poisoned_gate(text: str) -> Gate:
    """Results and levels choose words of our own; all else says ``text``."""
    bad = (replace(poisoned(check, text), result=check.result, level=check.level) for check in gate().checks)
    return Gate(tuple(bad), "error", text)


@given(st.text())
def test_any_name_is_shown_as_text(name: str) -> None:
    launch = replace(launch_with_advice(), kernel=name, demangled=name)
    tree = check_inert(html_report(Diagnosis((launch,), (), remark=name)))
    if name.isprintable() and name.strip():
        assert " ".join(name.split()) in words(tree)


@given(
    st.recursive(
        st.text() | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_any_data_comes_back_from_the_page(data: Any) -> None:
    found = data_of(check_inert(page("t", [], {"d": data})))["d"]
    assert isinstance(found, type(data))
    if isinstance(data, str) and data.isprintable():
        assert found == data


def test_names_that_hide_something_show_it() -> None:
    launch = replace(launch_near_peak(), kernel="a\u202eb\x1bc")
    assert "a\\u202eb\\x1bc" in words(parsed(html_report(Diagnosis((launch,), ()))))


def test_without_a_script_every_kernel_has_its_next_step_with_evidence() -> None:
    tree = parsed(sample_page())
    for shown_text in (
        "Pad the tile by one column",
        "shared_memory_padding coalesced.cu:63",
        "Pad the tile by one column: 2.18x faster (1.94x to 2.29x in 8 of 10 cases, leaves about 150.6 us of 328.3 us)",
        "65,011,712 of 69,206,016 shared-memory wavefronts are replays. The bottleneck is l1_data",
        "transpose/coalesced.cu:63 90% of it",
        "odata[i] = tile[threadIdx.x][threadIdx.y + j];",
        "- __shared__ float tile[32][32];",
        "+ __shared__ float tile[32][32 + 1];",
        "Profile again: memory_l1_wavefronts_shared over its ideal falls from 16.5 to 1.0.",
        "every shared-memory access becomes free of conflicts",
        "CUDA Optimization with Parallel Transpose (Lee, Yoo), Shared memory",
        "thread_coarsening 1.20x instead (PAR001)",
        "fewer_barriers (SYNC001), not the bottleneck: l1_data at 88% of its peak is",
        "At 97% of what dram attains. Stop here.",
        "Unclear: no rule predicts a gain",
        "share is not a number",
    ):
        assert shown_text in words(tree), shown_text


def test_the_first_view_says_how_much_and_what_first() -> None:
    summary = words(parsed(f"<body>{markup_of(sample_page(), 'summary')}</body>"))
    for shown_text in (
        "All 3 launches were judged. Do this first transposeCoalesced",
        "All kernels 472.6 us in 3 launches of 3 kernels",
        "With all advice for kernels taken 1.60x faster",
        "Near their peak 1 of 3",
        "Gate Fails 2 of 4 checks failed, 1 inconclusive",
        "transposeCoalesced Pad the tile by one column , coalesced.cu:63 2.18x faster",
        "38% 177.7 us",
        "kernels near their peak 30%",
    ):
        assert shown_text in summary


@pytest.mark.parametrize(
    ("launches", "shown_text"),
    [
        ((launch_with_advice(), launch_unclear()), "Near their peak 0 of 2"),
        ((launch_with_advice(), launch_near_peak()), "Near their peak 1 of 2 30% of the time: leave it alone"),
        (
            (launch_near_peak(), replace(launch_near_peak(), kernel="k")),
            "Near their peak 2 of 2 100% of the time: leave t",
        ),
    ],
)
def test_only_finished_kernels_are_to_be_left_alone(launches: tuple[LaunchDiagnosis, ...], shown_text: str) -> None:
    summary = words(parsed(f"<body>{markup_of(html_report(Diagnosis(launches, ())), 'summary')}</body>"))
    assert shown_text in summary
    assert ("leave" in summary) == ("leave" in shown_text)


@pytest.mark.parametrize(
    ("launches", "title"),
    [
        ((launch_with_advice(),), "transposeCoalesced on NVIDIA H200: what to do next"),
        (
            (launch_with_advice(), replace(launch_with_advice(), grid=(1, 1, 1))),
            "transposeCoalesced on NVIDIA H200: what to do next",
        ),
        (
            (launch_with_advice(), launch_near_peak()),
            "transposeCoalesced and transposeNoBankConflicts on NVIDIA H200: what to do next",
        ),
        ((launch_near_peak(),), "transposeNoBankConflicts on NVIDIA H200: near its peak"),
        ((launch_unclear(),), "latencyBound on NVIDIA H200: unclear"),
        ((replace(launch_with_advice(), kernel="  "),), "transpose.ncu-rep on NVIDIA H200: what to do next"),
        (diagnosis().launches, "transposeCoalesced and 2 other kernels on NVIDIA H200: what to do next"),
        ((), "transpose.ncu-rep: no launch to show"),
    ],
)
def test_a_page_is_named_after_its_kernels_and_gpu(launches: tuple[LaunchDiagnosis, ...], title: str) -> None:
    tree = parsed(html_report(Diagnosis(launches, diagnosis().reports)))
    assert (tree.findtext(".//title"), tree.findtext(".//h1")) == (title, title)


def test_a_page_of_one_kernel_opens_with_its_evidence_and_has_no_controls_of_a_table() -> None:
    tree = check_inert(html_report(Diagnosis((launch_with_advice(),), diagnosis().reports), gate()))
    assert sections(tree) == ["kernel", "gate", "words"]
    assert not tree.xpath("//form | //table[@data-sortable='parts'] | //button")
    labels = tree.xpath("//section[@id='kernel']//dl[1]/dt/text()")
    assert [label for label in labels if label != "Gate"][:5] == ["Next", "Why", "Where", "Waits for", "Example"]
    shown_text = words(tree)
    assert "grid 256x256, block 32x8, 328.3 us, l1_data 88%" in shown_text
    assert not re.search("leave it|stop here|alone", shown_text, re.IGNORECASE)


def sections(tree: Any) -> list[str]:
    return [str(name) for name in tree.xpath("//main/section/@id")]


def test_a_page_opens_with_what_it_is_about() -> None:
    was, now = Diagnosis((launch_with_advice(),), ()), diagnosis()
    assert sections(parsed(html_report(now)))[:2] == ["summary", "kernels"]
    ladders = parsed(html_report(now, ladders=[ladder()]))
    assert sections(ladders)[:2] == ["ladders", "summary"]
    assert ladders.findtext(".//h1") == "transpose on NVIDIA H200: ladder from naive to best"
    assert not ladders.xpath("//section[@id='ladders']/details[svg]"), "a ladder alone is not folded"
    changes = parsed(html_report(now, comparison=compare(was, now)))
    assert sections(changes)[:2] == ["changes", "summary"]
    assert changes.findtext(".//h1") == "transposeCoalesced and 2 other kernels on NVIDIA H200: what changed"


def test_a_failure_without_launches_has_no_figures() -> None:
    failure = Failure("NCU-NO-KERNEL", "no kernel was started", "Run the program without ncu.", 3)
    tree = check_inert(html_report(Diagnosis((), diagnosis().reports, failure=failure)))
    assert sections(tree) == ["summary"]
    assert "no kernel was started [NCU-NO-KERNEL]. Run the program without ncu. There is no launch" in re.sub(
        r"\bSummary ", "", words(tree)
    )
    assert "0 ns" not in words(tree)


def entries(table: Any) -> list[Any]:
    """What the script sorts and filters of a table."""
    return list(table.xpath("tbody" if table.get("data-sortable") == "parts" else "tbody/tr"))


@pytest.mark.parametrize("kernels", [2, 3])
def test_what_is_sorted_has_a_cell_for_each_heading(kernels: int) -> None:
    shown = Diagnosis(diagnosis().launches[:kernels], ())
    tree = parsed(html_report(shown, gate(), comparison=compare(shown, shown)))
    tables = tree.xpath("//table[@data-sortable]")
    assert len(tables) > 1
    for table in tables:
        headings = len(table.xpath("thead/tr/th"))
        assert [len(entry.xpath("descendant-or-self::tr[1]")[0]) for entry in entries(table)] == [headings] * len(
            entries(table)
        )
    assert len(entries(tree.get_element_by_id("kernels-table"))) == kernels


def test_a_kernel_is_found_by_what_was_found_of_it() -> None:
    row = parsed(sample_page()).get_element_by_id("k1")
    assert "shared-memory wavefronts are replays" in row.get("data-words")


def markup_of(text: str, name: str) -> str:
    made: str = lxml_html.tostring(parsed(text).get_element_by_id(name), encoding="unicode")
    return made


def test_a_gate_names_what_failed_first_and_links_to_the_kernel() -> None:
    tree = parsed(sample_page())
    rows = tree.xpath("//section[@id='gate']//table[1]/tbody")[0].xpath("tr")
    assert [row.xpath("string(td[1])") for row in rows] == ["failed", "inconclusive", "failed"]
    assert [row.xpath("string(td[2])") for row in rows] == ["error", "error", "warn"]
    assert rows[0].xpath(".//a/@href") == ["#k1"]
    assert "No baseline was compared." in words(tree)
    assert "fails the gate" in tree.xpath("string(//tbody[@id='k1'])")
    assert [each.get("data-gate") for each in tree.xpath("//tbody[@data-gate]")] == ["failed", "failed", ""]


def test_a_gate_that_is_open_says_so() -> None:
    passed = replace(gate(), checks=gate().checks[2:3])
    shown_text = words(parsed(html_report(diagnosis(), passed)))
    assert "Gate Open 0 of 1 checks failed" in shown_text
    assert "1 check passed" in shown_text


def test_of_very_many_checks_the_first_are_shown_and_the_others_counted() -> None:
    failed, passed = gate().checks[0], gate().checks[2]
    many = replace(gate(), checks=(failed,) * (LISTED + 1) + (passed,) * (LISTED + 5))
    tree = check_inert(html_report(diagnosis(), many))
    tables = tree.xpath("//section[@id='gate']//table/tbody")
    assert [len(table.xpath("tr")) for table in tables] == [LISTED, LISTED]
    shown_text = words(tree)
    assert f"{LISTED + 1:,} of {2 * LISTED + 6:,} checks failed" in shown_text
    assert "and 1 more. The same command with --output FILE.json" in shown_text
    assert f"{LISTED + 5:,} checks passed" in shown_text
    assert "and 5 more. The same command with --output FILE.json" in shown_text


def test_a_ladder_shows_predicted_and_measured_gains_in_a_chart_and_a_table() -> None:
    tree = parsed(sample_page())
    shown_text = markup_of(sample_page(), "ladders")
    for each in ("2.18x", "1.94x to 2.29x", "2.32x", "1,635 GB/s", "The slices are balanced."):
        assert each in shown_text
    (chart,) = tree.xpath("//section[@id='ladders']//svg[@role='img']")
    predicted = chart.xpath("circle[@class='predicted']/@cx")[0]
    measured = chart.xpath("path[@class='measured']/@d")[0]
    assert float(predicted) < float(re.findall(r"M([\d.]+)", measured)[0]), "2.18x predicted is left of 2.32x measured"


def test_a_comparison_shows_what_changed_and_whether_the_prediction_held() -> None:
    was = Diagnosis((launch_with_advice(),), ())
    now = Diagnosis(
        (replace(launch_near_peak(), kernel="transposeCoalesced", demangled=launch_with_advice().demangled),), ()
    )
    shown_text = words(parsed(html_report(now, comparison=compare(was, now))))
    assert "328.3 us before, 141.8 us after, 2.32x faster" in shown_text
    assert "bottleneck l1_data -> dram" in shown_text
    assert "Advice shared_memory_padding: 2.18x predicted" in shown_text


def test_launches_of_one_kernel_stand_in_one_row() -> None:
    launches = [replace(launch_with_advice(), index=at, duration_ns=1e5 * (at + 1)) for at in range(3)]
    tree = parsed(html_report(Diagnosis((*launches, launch_near_peak()), ())))
    assert len(tree.xpath("//table[@id='kernels-table']/tbody")) == 2
    assert "3 launches" in tree.xpath("string(//tbody[@id='k1'])")
    assert "launch 2, an example of the 3 that were profiled" in tree.xpath("string(//tbody[@id='k1'])")


def test_templates_of_one_name_are_distinguished_by_their_types() -> None:
    names = [f"void k<(int){size}>(float *)" for size in (4, 8)]
    launches = [replace(launch_near_peak(), kernel="k", demangled=name) for name in names]
    tree = parsed(html_report(Diagnosis(tuple(launches), ())))
    assert sorted(tree.xpath("//tbody/tr/th/button/text()")) == names


def test_unknown_times_and_metrics_are_no_numbers() -> None:
    launch = replace(launch_unclear(), duration_ns=nan, metrics={"ipc": TextbookMetric(inf, "inst/cycle", "x")})
    tree = check_inert(html_report(Diagnosis((launch,), ())))
    assert "1 launches are not in these times" in words(tree)
    assert data_of(tree)["kernels"]["k1"]["metrics"] == []


def test_metrics_are_in_the_data_with_value_and_definition() -> None:
    data = data_of(parsed(sample_page()))
    places = data["kernels"]["k1"]["metrics"]
    shown_text = [data["texts"][place] for place in places]
    at = shown_text.index("achieved_occupancy")
    assert shown_text[at : at + 4] == [
        "achieved_occupancy",
        "94 %",
        "Warps resident per active cycle, as a share of the most that a multiprocessor can hold.",
        "sm__warps_active.avg",
    ]
    assert shown_text[shown_text.index("effective_bandwidth") + 1] == "1.64 TB/s"


def test_every_kernel_of_the_catalogue_is_on_its_page_which_is_not_too_large() -> None:
    tree = check_inert(catalogue_page())
    _, found = catalogue()
    groups = priorities(found).groups
    assert len(tree.xpath("//table[@id='kernels-table']/tbody")) == len(groups) > 180
    shown = words(tree)
    assert all(" ".join(group.demangled.split()) in shown for group in groups)
    assert all(group.advice.fix.title in shown for group in groups if group.advice)
    assert len(catalogue_page().encode()) < 3 * MEGABYTE
    assert len(html_report(Diagnosis((), ())).encode()) < MEGABYTE / 10, "before data"


def test_of_very_many_kernels_the_page_has_those_that_matter_most_and_says_so() -> None:
    tree = check_inert(page_of_very_many())
    table = tree.get_element_by_id("kernels-table")
    assert [body.get("id") for body in table.xpath("tbody")] == [f"k{number}" for number in range(1, LISTED + 1)]
    assert len(table.xpath(".//div[@class='lines']")) == DETAILED
    assert data_of(tree)["kernels"].keys() == {f"k{number}" for number in range(1, DETAILED + 1)}
    saved = [float(value) for value in table.xpath("tbody/tr[1]/td[3]/@data-value")]
    assert saved == sorted(saved, reverse=True)
    shown_text = words(tree)
    assert "in 1,500 launches of 1,500 kernels" in shown_text
    assert (
        "The first 300 of 1,500 kernels, by the time that their advice saves and then by their own, open" in shown_text
    )
    assert "and 500 more kernels that are not on this page. The same command with --output FILE.json" in shown_text
    last = tree.xpath("string(//tbody[@id='k1000'])")
    assert last.endswith("The rest is not on this page.")
    assert "h200.ncu-repz, launch " in last
    assert len(page_of_very_many().encode()) < 6 * MEGABYTE


@pytest.mark.parametrize(("kernels", "is_said"), [(DETAILED, False), (DETAILED + 1, True)])
def test_a_page_that_has_everything_says_nothing_of_limits(kernels: int, is_said: bool) -> None:
    shown_text = words(parsed(html_report(Diagnosis(very_many().launches[:kernels], ()))))
    assert ("The first 300 of" in shown_text) is ("The rest is not on this page" in shown_text) is is_said
    assert "more kernels that are not on this page" not in shown_text


def test_what_failed_a_gate_is_named_though_its_row_is_not_on_the_page() -> None:
    found = very_many()
    last = priorities(found).groups[-1].example
    tree = check_inert(html_report(found, Gate((check(last, "failed"),), "error")))
    (row,) = tree.xpath("//section[@id='gate']//tbody/tr")
    assert last.demangled in " ".join(row.itertext())
    assert not row.xpath(".//a")


def test_every_line_of_a_recorded_kernel_has_its_shares() -> None:
    profile, found = recorded("transpose")
    row = next(row for row in rows_of(found, priorities(found), None) if row.group.kernel == "transposeCoalesced")
    heat = LineData(profile)
    ((key, lines, ranges),) = heat.of(row)
    name, texts = heat.files()[key]
    assert name == "transpose/transposeCoalesced.cu"
    assert sum(line[2] for line in lines) == pytest.approx(1000, abs=len(lines))
    assert sum(line[3] for line in lines) == pytest.approx(1000, abs=len(lines))
    worst = max(lines, key=lambda line: line[1])
    assert "tile[threadIdx.x][threadIdx.y + j]" in texts[str(worst[0])]
    assert worst[1] == round(1000 * row.shown.findings[0].where[0].share)
    assert all(str(at) in texts for first, last in ranges for at in range(first, last + 1))
    assert all(any(first <= line[0] <= last for first, last in ranges) for line in lines)


def test_without_source_texts_a_kernel_has_no_lines() -> None:
    profile, found = recorded("transpose")
    data = data_of(parsed(html_report(found, profile=replace(profile, sources={}))))
    assert data["files"] == {}
    assert all(kernel.keys() == {"metrics"} for kernel in data["kernels"].values())


def test_operations_are_counted_by_what_instructions_do() -> None:
    threads = {"thread_inst_executed_true": 100.0}
    texts = (
        "FADD R1, R2, R3",
        "@P0 FFMA.FTZ R1, R2, R3, R4",
        "DFMA R2, R4, R6, R8",
        "FFMA2 R2, R4, R6, R8",
        "IADD3 R1, R2",
    )
    profile = make_profile(Launch(instructions=[Instruction(text, 1, metrics=threads) for text in texts]))
    (found,) = counted_operations(profile).values()
    assert (found.single, found.double) == (100 + 200 + 400, 200)


@pytest.mark.parametrize("threads", [inf, 1.7e308])
def test_a_launch_whose_threads_cannot_be_counted_has_no_operations(threads: float) -> None:
    metrics = {"thread_inst_executed_true": threads}
    texts = ("MOV R1, R2", "FFMA R1, R2, R3, R4", "FFMA R5, R2, R3, R4")
    profile = make_profile(Launch(instructions=[Instruction(text, 1, metrics=metrics) for text in texts]))
    assert counted_operations(profile) == {}


def test_a_launch_whose_threads_were_not_counted_has_no_operations() -> None:
    profile = make_profile(Launch(metrics={"thread_inst_executed_true": nan}))
    assert counted_operations(profile) == {}


def test_the_roofline_of_recorded_kernels_is_what_arithmetic_says() -> None:
    profile, found = recorded("matmul")
    (line,) = rooflines(rows_of(found, priorities(found), None), counted_operations(profile))
    assert line.roof.bytes_per_s == pytest.approx(4.8e12, rel=0.03), "an H200's memory"
    assert line.roof.single_per_s == pytest.approx(67e12, rel=0.03), "an H200's FP32 peak"
    at = {point.row.group.kernel: point for point in line.points}["mmul_tiled"]
    assert at.operations.single == 2 * 2048**3
    assert at.per_s == pytest.approx(2 * 2048**3 / (at.row.shown.duration_ns * 1e-9))
    assert all(0 < point.share_of(line.roof) <= 1.02 for point in line.points)


def test_kernels_that_have_no_place_under_the_roof_are_named_with_the_reason() -> None:
    _, found = recorded("transpose")
    shown_text = markup_of(html_report(found), "roofline")
    assert shown_text.count("of half precision are not") == 1
    assert "30 kernels left out: their floating-point operations were not counted" in shown_text
    assert "transposeCoalesced" in shown_text


def test_memory_that_is_written_attains_less() -> None:
    launch = launch_with_advice()
    metrics = {f"dram_{way}_bytes": TextbookMetric(1e9, "byte", "") for way in ("read", "write")}
    only_read, _ = attainable_bounds(launch, "dram")
    written, _ = attainable_bounds(replace(launch, metrics=metrics), "dram")
    assert only_read == pytest.approx(0.916)
    assert written == pytest.approx(0.916 - 0.5 * 0.195)
    assert attainable_bounds(replace(launch, units={"dram": 0.95}), "dram") == (0.95, 0.95)


@given(st.floats(1e-9, 1e18), st.sampled_from(["byte", "byte/s", "FLOP/s"]))
def test_scaled_amounts_keep_three_digits(value: float, unit: str) -> None:
    number, word = amount(value, unit).split(" ")
    scale = {"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}.get(word.removesuffix(unit.replace("byte", "B")), 1.0)
    assert float(number) * scale == pytest.approx(value, rel=0.006)


@pytest.mark.parametrize(
    ("value", "unit", "shown_text"),
    [
        (0.844, "ratio 0-1", "84.4 %"),
        (33_554_432.0, "sector", "33,554,432 sector"),
        (0.0383, "inst/cycle per SM", "0.0383 inst/cycle per SM"),
        (12.5, "%", "12.5 %"),
        (4.81e12, "byte/s", "4.81 TB/s"),
        (nan, "byte", "unknown"),
    ],
)
def test_amounts_have_the_unit_that_people_read(value: float, unit: str, shown_text: str) -> None:
    assert amount(value, unit) == shown_text


def test_the_navigation_lists_the_sections() -> None:
    tree = parsed(page("A title", [element("p", "x"), section("one", "The <first>"), section("two", "Second")]))
    assert tree.xpath("//nav//a/@href") == ["#one", "#two"]
    assert tree.xpath("//nav//a/text()") == ["The <first>", "Second"]
    assert tree.xpath("//h1/text()") == ["A title"]


def test_an_element_escapes_and_keeps_lines() -> None:
    made = markup(element("pre", "a<b\n\tc", element("b", "d"), "\ntail", css="x", data_value=1.5, for_="y"))
    assert made == '<pre class="x" data-value="1.5" for="y">a&lt;b\n    c<b>d</b>\ntail</pre>'
