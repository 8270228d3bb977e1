"""Markdown, as a CommonMark parser with GitHub's tables reads it: its parts, its length, and that names do nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html
from markdown_it import MarkdownIt

from ncuview.comparison.compare import compare
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.gate import Gate
from ncuview.render.gate_words import gate_sentence
from ncuview.render.inert_markdown import NOTHING, code, fenced, html_code, prose
from ncuview.render.markdown import COMMENT, SUMMARY, Budget, markdown
from ncuview.render.text import safe_text
from tests.hostile import HOSTILE, name_of, poisoned
from tests.render.gate_sample import failed_error, gate, poisoned_gate
from tests.render.recorded import recorded
from tests.render.sample import diagnosis, ladder, launch_near_peak, launch_with_advice
from tests.together import together

PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
OURS = {
    *("div", "h2", "h3", "p", "em", "strong", "ul", "li", "code", "pre", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
ACTS = re.compile(
    r"(?<![\w/])@\w|(?<!&)#\d|\bGH-\d|[!$%&~^]\w|://|www\.|:\w+:|(?<![0-9A-Za-z])[0-9a-f]{7,40}(?![0-9A-Za-z])"
)
"""What GitHub or GitLab make a link, a mention or a picture of, outside of code."""
TRICKS = {
    "mention": "@octocat and @org/team",
    "issue": "#123, GH-123, owner/repo#1",
    "GitLab's references": "!1 $2 %3 ~4 &5 ^alert#1",
    "commit": "a5c3785ed8d6a35868bc169f07e40e889087fd2e and 1234567",
    "address": "https://example.com http://a.b www.example.com ftp://x a@b.example",
    "emoji": ":smile: :+1:",
    "link": "[x](http://a.b) ![y](z) [x]: http://a.b <http://a.b>",
    "html": "<script>alert(1)</script><b onclick=x>y</b><!-- x",
    "end of details": "</details></summary></code></td></table>",
    "table": "a | b \\| c \\\\| d",
    "code": "`a` ``b``` \\` ` x `",
    "emphasis": "*a* **b** _c_ __d__ ~~e~~ a_b_c",
    "entities": "&lt;b&gt; &#64;octocat &amp;",
    "escapes": "\\*a\\* \\<b\\>",
    "heading": "# a",
    "list": "- a",
    "quote": "> a",
    "rule": "---",
    "fence": "```\n</details>\n```",
    "tilde fence": "~~~",
    "math": "$a$ $$b$$ $`c`$",
}
texts = together("text", [*HOSTILE.values(), *TRICKS.values()], name=name_of)


def page_of(text: str) -> html.HtmlElement:
    return html.fragment_fromstring(PARSER.render(text), create_parent="div")


def loose_texts(node: html.HtmlElement) -> Iterator[str]:
    """Each piece of text that is not in code; comments take pieces apart, as they do for GitHub."""
    if node.tag in {"code", "pre"}:
        return
    if isinstance(node.tag, str):
        yield node.text or ""
    for part in node:
        yield from loose_texts(part)
        yield part.tail or ""


def check(page: html.HtmlElement) -> None:
    """Only our own elements, tables with as many cells as heads, and no text that does anything."""
    for part in page.iter():
        if isinstance(part.tag, str):
            assert part.tag in OURS, html.tostring(part)
            assert set(part.attrib) <= {"open", "style", "class"}
    for table in page.iter("table"):
        heads = len(table.findall("thead/tr/th"))
        assert heads
        assert {len(row.findall("td")) for row in table.findall("tbody/tr")} <= {heads}
    acting = [piece for piece in loose_texts(page) if ACTS.search(piece)]
    assert not acting


def rows(page: html.HtmlElement, heading: str) -> list[list[str]]:
    """The cells of the table below a heading."""
    title = next(each for each in page.iter("h3") if each.text_content() == heading)
    table = next(each for each in title.itersiblings() if each.tag == "table")
    return [[cell.text_content() for cell in row] for row in table.findall("tbody/tr")]


def test_failed_checks_come_first_then_next_steps_then_all_kernels() -> None:
    page = page_of(markdown(diagnosis(), gate(), COMMENT))
    check(page)
    assert page.findtext("h2") == f"ncuview {gate_sentence(gate())}"
    assert [each.text_content() for each in page.iter("h3")] == [
        "Checks that did not pass",
        "Next steps",
        "All kernels",
    ]
    assert rows(page, "Checks that did not pass")[0] == [
        "error",
        "transposeCoalesced(float *, const float *, int) grid 256x256, block 32x8",
        "duration_ns: took 328,320 ns, 9.4% more than the 300,000 ns that are allowed (budget.toml, budget 1)",
        "328.3 us",
        "",
    ]
    assert [row[0] for row in rows(page, "Checks that did not pass")] == [
        *("error", "inconclusive", "not judged", "warn", "warn")
    ]
    assert "the baseline is of another driver" in page.text_content()


def test_a_next_step_says_what_why_where_and_how_to_check() -> None:
    page = page_of(markdown(diagnosis(), None, COMMENT))
    check(page)
    assert page.findtext("h2") == "ncuview: 1 of 3 kernels can be made faster"
    (step,) = page.iter("details")
    assert "open" in step.attrib
    assert step.findall("summary")[0].text_content() == (
        "1. transposeCoalesced: Pad the tile by one column: 2.18x faster, saves 177.7 us"
    )
    step_text = " ".join(step.text_content().split())
    for words in ("Why: Up to 32-way", "Where: transpose/coalesced.cu:63", "Check: Profile again", "Assumes: every"):
        assert words in step_text
    blocks = [block.text_content() for block in step.iter("pre")]
    assert "> 63         odata[i] = tile[threadIdx.x][threadIdx.y + j];" in blocks[0]
    assert blocks[1] == "- __shared__ float tile[32][32];\n+ __shared__ float tile[32][32 + 1];\n"


def test_every_kernel_has_its_row() -> None:
    found = rows(page_of(markdown(diagnosis(), None, COMMENT)), "All kernels")
    assert found[0] == [
        *("transposeCoalesced grid 256x256, block 32x8", "1", "328.3 us", "69%", "l1_data 88%"),
        *("shared_memory_padding", "2.18x", "177.7 us"),
    ]
    assert [row[5:] for row in found[1:]] == [["near-peak", "", ""], ["unclear", "", ""]]


def test_the_step_that_saves_the_most_time_is_first_and_the_only_open_one() -> None:
    slow = replace(launch_with_advice(), kernel="slow", demangled="slow(int)", duration_ns=9e6, index=7)
    page = page_of(markdown(Diagnosis((launch_with_advice(), slow), ()), None, COMMENT))
    opened = [("open" in step.attrib, step.find("summary").text_content()[:8]) for step in page.iter("details")]
    assert opened == [(True, "1. slow:"), (False, "2. trans")]


def test_a_ladder_is_its_launches_and_a_comparison_its_pairs() -> None:
    assert "transposeNoBankConflicts" in markdown(ladder(), None, COMMENT)
    after = Diagnosis((replace(launch_with_advice(), duration_ns=164_160.0), launch_near_peak()), diagnosis().reports)
    page = page_of(markdown(compare(diagnosis(), after), gate(), COMMENT))
    check(page)
    assert page.findtext("h2") == "ncuview: 2 launches in both: 470.1 us before, 306 us after, 1.54x faster"
    assert rows(page, "Kernels in both")[0][:4] == [
        *("transposeCoalesced grid 256x256, block 32x8", "328.3 us", "164.2 us", "2.00x faster")
    ]
    assert rows(page, "Checks that did not pass")


MANY = 1_500


def many(kernels: int, name: str) -> tuple[Diagnosis, Gate]:
    launches = tuple(
        replace(launch_with_advice(), kernel=f"{name}{at}", demangled=f"{name}{at}(int)", index=at)
        for at in range(kernels)
    )
    checks = tuple(replace(failed_error(), kernel=launch.demangled) for launch in launches)
    return Diagnosis(launches, diagnosis().reports), Gate(checks, "error")


@pytest.mark.parametrize(("budget", "limit"), [(COMMENT, 65_536), (SUMMARY, 900 * 1024)])
@pytest.mark.parametrize("name", ["kernel", "|`@#" * 100])
def test_no_page_is_longer_than_the_sites_take_and_the_cut_is_said(budget: Budget, limit: int, name: str) -> None:
    answer, judged = many(MANY, name)
    text = markdown(answer, judged, budget)
    assert len(text.encode()) <= min(budget.bytes, limit)
    page = page_of(text)
    check(page)
    for what, shown in (
        ("checks that did not pass", len(rows(page, "Checks that did not pass"))),
        ("next steps", len(list(page.iter("details")))),
        ("kernels", len(rows(page, "All kernels"))),
    ):
        assert shown
        assert (f"{MANY - shown:,} more {what} are not shown" in page.text_content()) == (shown < MANY)


def test_what_fits_is_not_cut() -> None:
    assert "not shown" not in markdown(diagnosis(), gate(), COMMENT)


def test_a_recorded_profile_keeps_its_form() -> None:
    page = page_of(markdown(recorded(), None, SUMMARY))
    check(page)
    assert len(list(page.iter("details"))) <= len(rows(page, "All kernels"))


@texts
def test_no_name_does_anything(text: str) -> None:
    plain = page_of(markdown(poisoned(diagnosis(), "x"), poisoned_gate("x"), COMMENT))
    page = page_of(markdown(poisoned(diagnosis(), text), poisoned_gate(text), COMMENT))
    check(page)
    assert [len(row) for row in rows(page, "All kernels")] == [len(row) for row in rows(plain, "All kernels")]
    advised = len(list(plain.iter("details"))) if text else 0  # an advice has a word, or is none
    assert len(list(page.iter("details"))) == advised


@settings(max_examples=60)
@given(st.text(st.characters(), max_size=12) | st.text("@#:/!`|\\<>&*_~$%^[]()a1 \n", max_size=12))
def test_no_text_at_all_does_anything(text: str) -> None:
    check(page_of(markdown(poisoned(diagnosis(), text), poisoned_gate(text), COMMENT)))


@given(st.text("@#:/!`|\\<>&*_~$%^[]()a1.w- ", max_size=15))
def test_prose_and_code_read_as_they_were_written(text: str) -> None:
    for shown in (prose(text), code(text, 100), html_code(text, 100)):
        for form in (f"- x {shown} y\n", f"| a |\n| - |\n| x {shown} y |\n"):
            page = page_of(form)
            check(page)
            assert " ".join(safe_text(text).split()) in " ".join(page.text_content().split())


@given(st.text("`~\n ax|<", max_size=20))
def test_a_block_of_code_ends_where_it_should(text: str) -> None:
    page = page_of(f"{fenced(text)}\n\n**after**\n")
    assert page.findtext("p/strong") == "after"
    (block,) = page.iter("pre")
    assert block.text_content().split() == text.split()


def test_plain_words_stay_plain() -> None:
    sentence = "Up to 32-way bank conflicts: 65,011,712 of 69,206,016 shared_memory wavefronts (94%) are replays."
    assert prose(sentence) == sentence
    assert code("void k<4>(float *)", 100) == "`void k<4>(float *)`"
    assert NOTHING in prose("@someone")
