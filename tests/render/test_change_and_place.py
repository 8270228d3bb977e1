"""Change and place of a finding have one form on all pages, and a patch of the user's own lines comes first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ncuview.records.diagnosis import About, Diagnosis, LaunchDiagnosis, SourceEdit
from ncuview.render.html_report import html_report
from ncuview.render.markdown import SUMMARY, markdown
from ncuview.render.notebook import launch_html
from ncuview.render.shown_change import shown_change
from ncuview.render.terminal import diagnosis_page
from tests.render.sample import advice_finding, launch_with_advice

PATCH = "--- a/mine.cu\n+++ b/mine.cu\n@@ -1 +1 @@\n-__shared__ float t[32][32];\n+__shared__ float t[32][33];\n"
PAGES: tuple[Callable[[LaunchDiagnosis], str], ...] = (
    lambda launch: diagnosis_page(Diagnosis((launch,), ()), width=100, color=False),
    lambda launch: markdown(Diagnosis((launch,), ()), None, SUMMARY),
    lambda launch: html_report(Diagnosis((launch,), ())),
    launch_html,
)


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(("own", "label", "other"), [(False, "Example", "Change"), (True, "Change", "Example")])
def test_the_change_of_another_kernel_is_an_example_on_every_page(
    page: Callable[[LaunchDiagnosis], str], own: bool, label: str, other: str
) -> None:
    kernel = advice_finding().fix.before_from.partition("#")[0].rpartition("/")[2].removesuffix(".cu")
    text = page(replace(launch_with_advice(), kernel=kernel if own else "mine"))
    marks = ("  {} ", "**{}:**", "<dt>{}</dt>", "<th>{}</th>")
    assert any(mark.format(label) in text for mark in marks)
    assert not any(mark.format(other) in text for mark in marks)


@pytest.mark.parametrize("page", PAGES)
def test_the_patch_of_the_users_lines_is_on_every_page(page: Callable[[LaunchDiagnosis], str]) -> None:
    edit = SourceEdit("Pad the rows of t by one element", PATCH, assumes="no code reads t by its address")
    launch = replace(launch_with_advice(), outcomes=(replace(advice_finding(), edit=edit),))
    text = page(launch)
    assert "Pad the rows of t by one element:" in text
    assert "+__shared__ float t[32][33];" in text
    assert "holds if no code reads t by its address" in text
    assert "of the catalogue" not in text


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    ("subject", "words"),
    [("launch", "the launch: grid 256x256, block 32x8"), ("copies", "the host's copies around the launch")],
)
def test_a_finding_about_the_launch_says_so_where_others_have_lines(
    page: Callable[[LaunchDiagnosis], str], subject: About, words: str
) -> None:
    finding = replace(advice_finding(), where=(), instructions=(), lines_wanted="", about=subject)
    assert words in page(replace(launch_with_advice(), outcomes=(finding,))).replace("&#x27;", "'")


def test_a_long_change_is_given_in_words() -> None:
    finding = advice_finding()
    assert shown_change("mine", finding, most=0).heading == finding.fix.recipe or f"{finding.fix.title}."
    refused = replace(finding, edit=SourceEdit(reason="the tile has a name that two kernels share"))
    assert shown_change("mine", refused).remark == "no patch was written: the tile has a name that two kernels share"
