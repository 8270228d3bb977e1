"""GitLab's code quality report: every key that it demands, for every text."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]

from ncuview.records.diagnosis import Diagnosis
from ncuview.records.gate import Gate
from ncuview.render.annotations import code_quality
from tests.hostile import each_hostile_text, poisoned
from tests.render.gate_sample import gate, poisoned_gate
from tests.render.sample import CHECKOUT, diagnosis

if TYPE_CHECKING:
    import pytest

DOCUMENTED = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string"},  # a rule's code is checked when its file is loaded
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^[^/]", "not": {"pattern": "^(\\./|\\.\\.)"}},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
"""What GitLab's documentation says of an entry."""


def entries(answer: Diagnosis, judged: Gate | None) -> Any:
    document = json.loads(code_quality(answer, judged, CHECKOUT))
    assert not list(Draft202012Validator(DOCUMENTED).iter_errors(document))
    assert len({entry["fingerprint"] for entry in document}) == len(document)
    return document


def test_severity_and_place() -> None:
    found = entries(diagnosis(), gate())
    assert [entry["severity"] for entry in found] == [*["critical"] * 3, *["major"] * 2, *["info"] * 2]
    assert found[3]["location"] == {"path": "transpose/coalesced.cu", "lines": {"begin": 63}}
    assert found[3]["check_name"] == "SMEM001"


def test_what_has_no_line_is_at_the_report(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(CHECKOUT)
    assert entries(diagnosis(), gate())[0]["location"] == {"path": "runs/transpose.ncu-rep", "lines": {"begin": 1}}


def test_a_report_outside_the_root_is_its_name() -> None:
    assert entries(diagnosis(), gate())[0]["location"] == {"path": "transpose.ncu-rep", "lines": {"begin": 1}}


def test_nothing_to_say_is_an_empty_list() -> None:
    assert entries(Diagnosis((), ()), None) == []


@each_hostile_text
def test_any_name_gives_valid_entries(text: str) -> None:
    assert len(entries(poisoned(diagnosis(), text), poisoned_gate(text))) >= 6


@given(st.text(st.characters(), max_size=20))
def test_any_text_at_all_gives_valid_entries(text: str) -> None:
    entries(poisoned(diagnosis(), text), poisoned_gate(text))
