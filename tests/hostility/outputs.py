"""Every output of an answer, by name, complete for any number of launches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import get_args

from ncuview.records.diagnosis import Diagnosis
from ncuview.records.documents.view import ViewName
from ncuview.records.gate import Gate
from ncuview.render import render
from ncuview.render.gate import gate_page
from ncuview.render.history import render_history
from ncuview.render.notebook import diagnosis_html, ladder_html, launch_html
from ncuview.render.outputs import FORMATS, output_text
from ncuview.render.views import brief, view, view_json
from tests.hostility.judges import JUDGES, check_history, check_json, check_log, check_markdown, check_notebook
from tests.hostility.places import Answers
from tests.render.test_sarif import rules

Output = tuple[str, str | bytes, Callable[..., object]]
"""Its name, what it is, and its judge."""
_NARROW = 40
_AT_ONCE = 9
"""Annotations that GitHub shows of a level, less the one that counts the others."""


_HISTORIES: dict[str, Callable[[str], object]] = {
    "terminal": check_log,
    "json": check_json,
    "html": check_history,
    "markdown": check_markdown,
}


def outputs_of(answers: Answers) -> Iterator[Output]:
    """All that is written of these answers."""
    made, gate = answers.diagnosis, answers.gate
    for to, form in FORMATS.items():
        judge = JUDGES[to]
        if to == "github":
            yield "github", "".join(_annotations(made, gate)), judge
            continue
        yield to, output_text(made, gate, to, rules=rules()), judge
        if form.compares:
            yield f"{to} of a comparison", output_text(answers.comparison, None, to), judge
            yield f"{to} of a ladder", output_text(answers.ladder, None, to), judge
    for view_name in get_args(ViewName):
        yield f"view {view_name}", view_json(view(made, view_name)), check_json
        yield f"brief {view_name}", brief(made, view_name), check_log
    yield "narrow page", render(made, width=_NARROW, top=len(made.launches)), check_log
    yield "narrow gate", gate_page(gate, width=_NARROW), check_log
    for to, history_judge in _HISTORIES.items():
        yield f"{to} of a history", render_history(answers.history, to), history_judge
        yield f"{to} of a history by call", render_history(answers.history, to, by="call"), history_judge
    yield "notebook", diagnosis_html(made), check_notebook
    yield "notebook of a ladder", ladder_html(answers.ladder), check_notebook
    for launch in made.launches:
        yield "notebook of a launch", launch_html(launch), check_notebook


def _annotations(made: Diagnosis, gate: Gate) -> Iterator[str]:
    """GitHub shows ten of a level, so that only a few launches are written at once."""
    checks = len(gate.checks) // len(made.launches)
    for at in range(0, len(made.launches), _AT_ONCE // 2):
        some = slice(at, at + _AT_ONCE // 2)
        few = Diagnosis(made.launches[some], made.reports[some], made.remark, failure=made.failure)
        yield str(output_text(few, Gate(gate.checks[checks * some.start : checks * some.stop], "error"), "github"))
