"""A diagnosis as JSON comes back without any loss; any other text is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest

from ncuview.records.diagnosis import Diagnosis, TextbookMetric
from ncuview.records.exact import from_json, to_json
from ncuview.records.profile import Failure
from tests.profiles import RECORDED, recorded_diagnosis
from tests.together import together


@together("family", [report.parent.name for report in RECORDED])
def test_every_recorded_diagnosis_comes_back(family: str) -> None:
    diagnosis = recorded_diagnosis(family)
    assert repr(from_json(to_json(diagnosis))) == repr(diagnosis)


def test_numbers_are_exact() -> None:
    for value in (math.nan, math.inf, -math.inf, -0.0, 0.1, 5e-324, 1.7976931348623157e308, 0.1 + 0.2):
        diagnosis = recorded_diagnosis("transpose")
        launch = replace(diagnosis.launches[0], duration_ns=value, attained=value)
        back = from_json(to_json(replace(diagnosis, launches=(launch,)))).launches[0]
        assert (repr(back.duration_ns), repr(back.attained)) == (repr(value), repr(value))


def test_texts_failures_and_counts_by_configuration_come_back() -> None:
    failure = Failure("NCU-PERM", "no \ud800\x00\u2028 text", "", 4)
    diagnosis = Diagnosis((), (), "remark", {("k", (1, 2, 3), (4, 5, 6)): 7}, failure)
    assert from_json(to_json(diagnosis)) == diagnosis


def test_what_launches_share_is_written_once() -> None:
    diagnosis = recorded_diagnosis("transpose")
    twice = replace(diagnosis, launches=(*diagnosis.launches, *diagnosis.launches))
    assert len(to_json(twice)) < 1.01 * len(to_json(diagnosis))
    back = from_json(to_json(twice))
    assert back.launches[0] is back.launches[len(diagnosis.launches)]


class MadeOnAccess(Mapping[str, TextbookMetric]):
    def __iter__(self) -> Iterator[str]:
        return map(str, range(100))

    def __len__(self) -> int:
        return 100

    def __getitem__(self, name: str) -> TextbookMetric:
        return TextbookMetric(float(name), "", name)


def test_records_that_are_made_on_access_are_not_confused() -> None:
    diagnosis = recorded_diagnosis("transpose")
    launch = replace(diagnosis.launches[0], metrics=MadeOnAccess())
    back = from_json(to_json(replace(diagnosis, launches=(launch,)))).launches[0]
    assert back.metrics == dict(MadeOnAccess())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "3",
        "[3]",
        "[[]]",
        '[["Diagnosis"]]',
        '[["Popen", "ls"]]',
        '[["RuleId", "A", "b"]]',
        '[["Diagnosis", [{"record": 1}], []]]',
        '[["Diagnosis", [{"other": 1}], []]]',
        '[["Diagnosis", [{"time": "yesterday"}], []]]',
        "[" * 100_000,
    ],
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no diagnosis"):
        from_json(text)


def test_what_is_no_record_is_refused() -> None:
    with pytest.raises(TypeError, match="no record"):
        to_json(Diagnosis((), (), remark={1}))  # type: ignore[arg-type]


def test_it_is_json_apart_from_numbers_that_json_lacks() -> None:
    assert isinstance(json.loads(to_json(recorded_diagnosis("transpose"))), list)
