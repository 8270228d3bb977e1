"""The JSON document: what it says is described by its schema, whatever the texts are."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields, replace
from math import inf, nan
from typing import Any, NoReturn, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.engine.rule_file import OPTIMIZATIONS
from ncuview.records.diagnosis import Diagnosis, Grade, Origin, Verdict
from ncuview.records.gate import Check, CheckResult, Gate, Level
from ncuview.records.ladder import Ladder
from ncuview.render import render
from ncuview.render.document import as_json, json_parts
from tests.hostile import each_hostile_text, poisoned
from tests.render.gate_sample import failed_error, gate, poisoned_gate
from tests.render.sample import diagnosis, ladder, launch_with_advice
from tests.render.schema import problems, schema

# What is not free text but a word or name of a rule file, which its loader checks.
CHECKED_WHEN_LOADED = ("pattern", "enum", "uniqueItems", "minLength", "anyOf")


def refuse_constant(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not JSON")


def document_of(answer: Any) -> Any:
    return json.loads(render(answer, "json"), parse_constant=refuse_constant)


@pytest.mark.parametrize("name", ["diagnosis", "ladder"])
def test_documents_stay_as_they_are(name: str, golden: Callable[[str, str], None]) -> None:
    answer = diagnosis() if name == "diagnosis" else ladder()
    golden(f"{name}.json", render(answer, "json"))


@pytest.mark.parametrize("answer", [diagnosis(), ladder(), Diagnosis((), ())], ids=["diagnosis", "ladder", "nothing"])
def test_the_document_looks_as_any_json_with_two_spaces(answer: Diagnosis | Ladder) -> None:
    text = as_json(answer, gate())
    assert text == json.dumps(json.loads(text), indent=2) + "\n"


def test_each_launch_is_a_part_that_is_made_on_demand() -> None:
    launch = launch_with_advice()
    bad = replace(launch, textbook=(nan,))  # type: ignore[arg-type]
    made: list[str] = []
    with pytest.raises(ValueError, match="not JSON compliant"):
        made.extend(json_parts(Diagnosis((launch, launch, bad), ())))
    assert sum('"source": "recorded"' in part for part in made) == 2


def test_the_sample_is_as_the_schema_says() -> None:
    assert not problems(document_of(diagnosis()))


def test_the_launches_of_a_ladder_are_too() -> None:
    launches = [step["launch"] for step in document_of(ladder())["steps"]]
    assert len(launches) == 2
    assert not problems({**document_of(diagnosis()), "launches": launches})
    assert not problems(document_of(ladder()), "ladder")


def test_the_schema_s_words_are_the_program_s() -> None:
    launch, finding = (schema()["$defs"][name]["properties"] for name in ("Launch", "Advice"))
    assert schema()["properties"]["schema"]["const"] == schema()["title"] == "ncuview.diagnosis/2"
    assert finding["optimization"]["enum"] == list(OPTIMIZATIONS)
    assert finding["grade"]["enum"] == list(get_args(Grade))
    assert launch["verdict"]["enum"] == list(get_args(Verdict))
    assert launch["source"]["enum"] == list(get_args(Origin))


def test_a_gate_is_part_of_the_document_only_where_there_is_one() -> None:
    document = json.loads(as_json(diagnosis(), gate()), parse_constant=refuse_constant)
    assert not problems(document)
    assert document["gate"]["closed"] is True
    assert [check["closes"] for check in document["gate"]["checks"]] == [True, False, False, True, True, False]
    assert document["gate"]["checks"][0]["measured"] == 328_320.0
    assert "gate" not in document_of(diagnosis())


def test_the_schema_s_words_for_checks_are_the_model_s() -> None:
    check = schema()["$defs"]["GateCheck"]["properties"]
    assert check["result"]["enum"] == list(get_args(CheckResult))
    assert (
        check["level"]["enum"]
        == schema()["$defs"]["GateResult"]["properties"]["fail_on"]["enum"]
        == list(get_args(Level))
    )
    assert check.keys() == {field.name for field in fields(Check)} - {"limit_line"} | {
        "closes"
    }  # origin names the line


@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_a_check_without_a_number_has_null(number: float) -> None:
    check = replace(failed_error(), measured=number, limit=number)
    document = json.loads(as_json(diagnosis(), Gate((check,), "error")), parse_constant=refuse_constant)
    assert document["gate"]["checks"][0]["measured"] is document["gate"]["checks"][0]["limit"] is None
    assert not problems(document)


@each_hostile_text
def test_any_text_of_a_gate_comes_back_as_it_was(text: str) -> None:
    document = json.loads(as_json(diagnosis(), poisoned_gate(text)))
    assert {check["origin"] for check in document["gate"]["checks"]} == {document["gate"]["remark"]} == {text}
    assert not problems(document)


def changed(path: str, value: Any) -> Any:
    """The sample document with one thing changed, or removed when ``value`` is ``...``."""
    document = json.loads(as_json(diagnosis(), gate()))
    *way, last = [int(step) if step.isdigit() else step for step in path.split(".")]
    node = document
    for step in way:
        node = node[step]
    if value is ...:
        del node[last]
    else:
        node[last] = value
    return document


FINDING, PASSED, SKIPPED = "launches.0.outcomes.0", "launches.0.outcomes.3", "launches.2.outcomes.0"


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema", "ncuview.diagnosis/1"),
        ("schema", ...),
        ("surprise", 1),
        ("launches.0.surprise", 1),
        ("launches.0.kernel", ...),
        ("launches.0.verdict", "great"),
        ("launches.0.source", "rumour"),
        ("launches.0.grid", [1, 2]),
        ("launches.0.duration_ns", "328 us"),
        ("launches.0.findings", []),
        ("launches.0.findings.0.optimization", "overclocking"),
        ("launches.0.findings.0.predicted_speedup.low", ...),
        ("launches.0.findings.0.rank", 0),
        ("launches.1.verdict", "advice"),
        (f"{FINDING}.predicted_speedup", ...),
        (f"{FINDING}.rejected", ...),
        (f"{FINDING}.missing", []),
        (f"{PASSED}.rejected", ""),
        (f"{PASSED}.missing", []),
        (f"{PASSED}.outcome", "fine"),
        (f"{SKIPPED}.missing", ...),
        (f"{SKIPPED}.predicted_speedup", {"low": 1, "best": 1, "high": 1}),
        ("reports.0.created", "yesterday"),
        ("gate.closed", "yes"),
        ("gate.checks.0.result", "maybe"),
        ("gate.checks.0.surprise", 1),
        ("gate.checks.0.measured", ...),
    ],
)
def test_the_schema_refuses_what_is_wrong(path: str, value: Any) -> None:
    assert problems(changed(path, value))


def test_advice_is_ranked_and_rejected_findings_have_their_reason() -> None:
    launch = document_of(diagnosis())["launches"][0]
    assert [(f["rank"], f["rule"]) for f in launch["findings"]] == [(1, "SMEM001"), (2, "PAR001")]
    kept = {outcome["rule"]: outcome["rejected"] for outcome in launch["outcomes"] if outcome["outcome"] == "finding"}
    assert kept == {"SMEM001": "", "PAR001": "", "SYNC001": "not the bottleneck: l1_data at 88% of its peak is"}


@pytest.mark.parametrize("number", [nan, inf, -inf])
def test_what_was_not_measured_is_null(number: float) -> None:
    unknown = replace(diagnosis().launches[2], duration_ns=number, attained=number)
    document = document_of(Diagnosis((unknown,), ()))
    assert document["launches"][0]["duration_ns"] is None
    assert document["launches"][0]["attained"] is None
    assert not problems(document)


def test_an_unmeasured_bandwidth_is_null_in_a_ladder() -> None:
    step = replace(ladder().steps[0], useful_rate=nan)
    assert document_of(replace(ladder(), steps=(step,)))["steps"][0]["useful_rate"] is None


def test_a_number_that_must_be_known_is_never_written_as_nan() -> None:
    finding = replace(launch_with_advice().findings[0], message="x")
    broken = replace(finding, predicted_speedup=replace(finding.predicted_speedup, best=nan))
    with pytest.raises(ValueError, match="nan"):
        render(Diagnosis((replace(launch_with_advice(), outcomes=(broken,)),), ()), "json")


@each_hostile_text
def test_any_text_comes_back_as_it_was(text: str) -> None:
    answer = poisoned(diagnosis(), text)
    printed = render(answer, "json")
    assert printed.isascii()
    document = json.loads(printed)
    assert document["launches"][0]["kernel"] == text
    assert document["launches"][0]["findings"][0]["where"][0]["code"] == text
    assert document["launches"][2]["outcomes"][1]["message"] == text
    assert {problem.validator for problem in problems(document)} <= {*CHECKED_WHEN_LOADED, "propertyNames"}


@given(st.text(st.characters(), max_size=30))
def test_any_text_at_all_comes_back_as_it_was(text: str) -> None:
    document = json.loads(render(poisoned(diagnosis(), text), "json"))
    assert document["remark"] == document["launches"][1]["demangled"] == text
