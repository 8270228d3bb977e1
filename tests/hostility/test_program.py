"""Names of calls are data, on every page that shows a program."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncuview.render.notebook import diagnosis_html
from ncuview.render.outputs import output_text
from ncuview.render.terminal import quiet_page
from ncuview.render.views import LARGEST, brief, view, view_json
from tests.hostile import each_payload, poisoned
from tests.hostility.judges import check_html, check_json, check_log, check_markdown, check_notebook
from tests.programs.test_of_profile import program, trained
from tests.programs.test_processes import sample

CHECKS = {"terminal": check_log, "markdown": check_markdown, "html": check_html, "json": check_json}
JUDGED = sample()
assert JUDGED.program
PROGRAM = replace(JUDGED.program, calls=(*JUDGED.program.calls, *program(trained()).calls))


@pytest.mark.parametrize("form", CHECKS)
@each_payload
def test_every_page_shows_hostile_calls_as_text(form: str, text: str) -> None:
    diagnosis = replace(JUDGED, program=poisoned(PROGRAM, text))
    CHECKS[form](str(output_text(diagnosis, None, form)))


@each_payload
def test_views_show_hostile_calls_as_text(text: str) -> None:
    diagnosis = replace(JUDGED, program=poisoned(PROGRAM, text))
    check_json(view_json(view(diagnosis)))
    check_log(brief(diagnosis, max_bytes=LARGEST))


@each_payload
def test_cells_and_quiet_pages_show_hostile_calls_as_text(text: str) -> None:
    diagnosis = replace(JUDGED, program=poisoned(PROGRAM, text))
    check_notebook(diagnosis_html(diagnosis))
    check_log(quiet_page(diagnosis, width=100, color=False))
