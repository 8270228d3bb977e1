"""An answer with launches missing, or no answer: every format says so, and none looks like a complete one."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO

import pandas as pd
import pytest
from lxml import etree

from ncuview.comparison.compare import compare
from ncuview.gate.judge import _incomplete
from ncuview.reader.settings import Settings
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.gate import Gate
from ncuview.records.profile import Failure
from ncuview.render.document import as_json
from ncuview.render.history import history_page
from ncuview.render.history_document import history_json
from ncuview.render.html_report.history import history_html
from ncuview.render.notebook import diagnosis_html
from ncuview.render.outputs import FORMATS, output_text
from ncuview.trends import DiagnosedReport, history_of
from ncuview.trends.document import diagnosis_of
from tests.render.gate_sample import failed_error
from tests.render.sample import diagnosis
from tests.render.schema import problems

LOST = Failure("NCU-PART", "launches 0 to 6 of 9 were read; block 3 is damaged", "Profile again.", 3)
PARTIAL = replace(diagnosis(), failure=LOST)
NOTHING = Diagnosis((), (), failure=LOST)
TEXTS = [name for name, form in FORMATS.items() if not form.binary and name != "csv"]

each_text = pytest.mark.parametrize("to", TEXTS)


def text_of(answer: Diagnosis, to: str, gate: Gate | None = None) -> str:
    text = output_text(answer, gate, to)
    assert isinstance(text, str)
    return text


@each_text
@pytest.mark.parametrize("answer", [PARTIAL, NOTHING], ids=["partial", "nothing"])
def test_every_format_names_what_is_missing(to: str, answer: Diagnosis) -> None:
    text = " ".join(text_of(answer, to).split())
    assert "NCU-PART" in text or "NCU&#45;PART" in text
    assert "block 3 is damaged" in text or to == "openmetrics"


@each_text
def test_a_complete_answer_has_no_note_on_missing_launches(to: str) -> None:
    text = text_of(diagnosis(), to)
    assert "Incomplete" not in text
    assert "ncuview_incomplete" not in text


@each_text
def test_a_gate_says_it_once(to: str) -> None:
    gate = Gate((_incomplete(LOST),), "error")
    text = text_of(PARTIAL, to, gate)
    assert "NCU-PART" in text or "NCU&#45;PART" in text
    if to == "junit":
        assert text.count("<error") == 1
    if to == "sarif":
        assert len([each for each in json.loads(text)["runs"][0]["results"] if each["level"] != "note"]) == 1


@pytest.mark.parametrize("to", ["markdown", "summary"])
@pytest.mark.parametrize("gate", [None, Gate((_incomplete(LOST), failed_error()), "error", "a remark")])
def test_a_page_says_it_before_any_total(to: str, gate: Gate | None) -> None:
    _, first, *_ = text_of(PARTIAL, to, gate).split("\n\n")
    assert "Incomplete" in first


def test_the_first_annotation_says_it() -> None:
    gate = Gate((failed_error(), _incomplete(LOST)), "error")
    _, first, *others = text_of(PARTIAL, "github", gate).splitlines()
    assert first.startswith("::error title=ncuview%3A NCU-PART::Incomplete: launches 0 to 6 of 9 were read")
    assert not any("NCU-PART" in other or "profile" in other for other in others)


def test_json_of_an_incomplete_answer_is_valid_and_reads_back_as_incomplete() -> None:
    for answer in (PARTIAL, NOTHING):
        document = json.loads(as_json(answer))
        assert not problems(document)
        assert document["error"] == {
            "id": "NCU-PART",
            "message": "launches 0 to 6 of 9 were read; block 3 is damaged",
            "hint": "Profile again.",
            "exit_code": 3,
        }
        assert diagnosis_of(document).failure == LOST
    assert json.loads(as_json(diagnosis()))["error"] is None


def test_tables_say_it_in_every_row() -> None:
    rows = text_of(PARTIAL, "csv").splitlines()
    assert len(rows) == 1 + len(PARTIAL.launches)
    assert all("block 3 is damaged" in row for row in rows[1:])
    data = output_text(PARTIAL, None, "parquet")
    assert isinstance(data, bytes)
    assert set(pd.read_parquet(BytesIO(data))["missing"]) == {LOST.message}
    assert "missing" not in text_of(diagnosis(), "csv").splitlines()[0].split(",")


def test_a_table_of_nothing_says_why() -> None:
    assert text_of(NOTHING, "csv").splitlines() == ["missing", LOST.message]
    assert pd.read_parquet(BytesIO(output_text(NOTHING, None, "parquet"))).to_dict("records") == [  # type: ignore[arg-type]
        {"missing": LOST.message}
    ]


def test_sarif_says_that_the_run_did_not_succeed() -> None:
    (invocation,) = json.loads(text_of(PARTIAL, "sarif"))["runs"][0]["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["exitCode"] == 3
    assert invocation["toolExecutionNotifications"][0]["descriptor"] == {"id": "NCU-PART"}
    (invocation,) = json.loads(text_of(diagnosis(), "sarif"))["runs"][0]["invocations"]
    assert invocation == {"executionSuccessful": True}


def test_junit_has_one_test_that_could_not_be_judged() -> None:
    root = etree.fromstring(text_of(NOTHING, "junit").encode())
    assert (root.get("tests"), root.get("errors")) == ("1", "1")


def test_a_gate_over_missing_launches_is_not_open() -> None:
    from ncuview.gate.budget import Budget
    from ncuview.gate.judge import judge
    from ncuview.gate.spread import Spreads
    from ncuview.gate.verdict import exit_code
    from tests.gate import made

    found = made.launch()
    complete = made.diagnosis(found)
    for answer, code in ((complete, 0), (replace(complete, failure=LOST), 3)):
        gate = judge(answer, made.profile(found), Budget(), settings={}, spreads=Spreads({}))
        assert exit_code(gate) == code


def test_both_sides_of_a_comparison_are_named() -> None:
    complete, partial = diagnosis(), PARTIAL
    for sides in ((complete, partial), (partial, complete)):
        found = compare(*sides)
        assert found.failure == LOST
        assert json.loads(as_json(found))["error"]["id"] == "NCU-PART"
        for to in ("terminal", "markdown", "html"):
            text = output_text(found, None, to)
            assert isinstance(text, str)
            assert "Incomplete" in text, to
    assert compare(complete, complete).failure is None


def test_notebooks_and_histories_name_it() -> None:
    assert "Incomplete: launches 0 to 6" in diagnosis_html(PARTIAL)
    found = history_of(
        [DiagnosedReport("first", "", PARTIAL, Settings()), DiagnosedReport("second", "", diagnosis(), Settings())]
    )
    assert [each.message for each in found.failures] == [f"first: {LOST.message}"]
    assert "Incomplete: first: launches 0 to 6" in " ".join(history_page(found, width=100, color=False).split())
    assert "Incomplete: first: launches 0 to 6" in history_html(found)
    assert [each["id"] for each in json.loads(history_json(found))["errors"]] == ["NCU-PART"]
