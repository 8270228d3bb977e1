"""Pages with every hostile text, opened in a real Chromium: no dialog, no request, no word on the console."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ncuview.render.history import render_history
from ncuview.render.html_report import html_report
from ncuview.render.notebook import diagnosis_html, ladder_html
from tests.browser.test_html_report import Shown, chromium, shown  # noqa: F401  (fixtures)
from tests.hostile import PAYLOADS
from tests.hostility.places import Answers, answers_in

FOREIGN = "img, iframe, object, embed, audio, video, base, animate, textarea, [onerror], [onload], [onclick], [srcdoc]"


def report(answers: Answers) -> str:
    return html_report(answers.diagnosis, answers.gate, [answers.ladder], answers.comparison)


def history(answers: Answers) -> str:
    return render_history(answers.history, "html")


def notebook(answers: Answers) -> str:
    cells = diagnosis_html(answers.diagnosis) + ladder_html(answers.ladder)
    return f"<!DOCTYPE html><html><head><meta charset=utf-8><link rel=icon href='data:,'></head>{cells}</html>"


@pytest.mark.parametrize(("make", "scripts"), [(report, 2), (history, 2), (notebook, 0)])
@pytest.mark.parametrize("place", ["function name", "source text", "rule's message", "textbook metric"])
def test_nothing_happens(shown: Shown, place: str, make: Callable[[Answers], str], scripts: int) -> None:  # noqa: F811
    (answers,) = answers_in(place, PAYLOADS.values())
    tab = shown(make(answers))
    for button in tab.locator(".expand").all()[:5]:
        button.click()
    tab.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    tab.wait_for_timeout(100)
    assert tab.evaluate("document.scripts.length") == scripts
    assert tab.locator(FOREIGN).count() == 0
