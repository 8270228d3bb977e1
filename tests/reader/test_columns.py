"""Launches as columns: what a child process sends arrives, and bytes that are cut or too long are refused."""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Mapping
from dataclasses import replace
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.reader.columns import FLOAT64, INT64, Answer, LaunchColumns, Reading, decode, encode

NAMES = st.text(st.characters(codec=None), max_size=5)
"""Of anything, lone surrogates too: names of a damaged report are no text."""
NUMBERS = st.floats(allow_nan=True)


@st.composite
def readings(draw: st.DrawFn) -> Reading:
    """Launches that fit together, each with instructions and metrics of its own."""
    launches, metrics, code = (draw(st.integers(0, 3)) for _ in range(3))
    counted = draw(st.integers(0, 3))
    counts = [draw(st.integers(0, 4)) if code else 0 for _ in range(launches)]
    carried = [draw(st.lists(st.integers(0, counted - 1), unique=True)) if counted else [] for _ in range(launches)]
    numbers = sum(count * len(each) for count, each in zip(counts, carried, strict=True))

    def several(of: st.SearchStrategy[str], size: int) -> list[str]:
        return draw(st.lists(of, min_size=size, max_size=size))

    def reals(size: int) -> list[float]:
        return draw(st.lists(NUMBERS, min_size=size, max_size=size))

    columns = LaunchColumns(
        index=draw(st.lists(st.integers(0, 10**9), min_size=launches, max_size=launches)),
        kernel=several(NAMES, launches),
        demangled=several(NAMES, launches),
        device=several(NAMES, launches),
        metrics=several(NAMES, metrics),
        units=several(NAMES, metrics),
        values=reals(launches * metrics),
        counts=counts,
        carried=carried,
        instruction_metrics=several(NAMES, counted),
        address=[16 * place for place in range(code)],
        sass=several(NAMES, code),
        file=several(NAMES, code),
        line=list(range(code)),
        executed=[draw(st.integers(0, code - 1)) for _ in range(sum(counts))],
        instruction_values=reals(numbers),
        sources=draw(st.dictionaries(NAMES, NAMES, max_size=2)),
        workload=draw(st.lists(st.sampled_from(["kernel", "range"]), min_size=launches, max_size=launches)),
    )
    return Reading(draw(st.integers(0, 10**9)), several(NAMES, 2), columns)


def sent(reading: Reading, report: int = 0, lost: Mapping[int, str] | None = None) -> bytes:
    return b"".join(encode(Answer(reading, lost or {}), report))


def only(data: bytes) -> Reading:
    (answer,) = decode(data)
    return answer.reading


def plain(reading: Reading) -> dict[str, object]:
    """All that a reading says, to be compared: numbers bit by bit, since NaN equals nothing."""
    texts = dict(vars(reading.launches))
    kinds = {"values": FLOAT64, "instruction_values": FLOAT64, "executed": INT64}
    numbers = {name: array(kind, texts.pop(name)).tobytes() for name, kind in kinds.items()}
    return {"total": reading.total, "kernels": reading.kernels, **texts, **numbers}


@given(readings(), st.dictionaries(st.integers(0, 10**9), st.text(), max_size=3))
def test_what_is_sent_arrives(reading: Reading, lost: dict[int, str]) -> None:
    (answer,) = decode(sent(reading, 0, lost))
    assert plain(answer.reading) == plain(reading)
    assert answer.lost == lost


@given(st.lists(readings(), min_size=1, max_size=4))
def test_answers_for_several_reports_arrive_in_their_order(several: list[Reading]) -> None:
    data = b"".join(sent(reading, place) for place, reading in enumerate(several))
    assert [plain(answer.reading) for answer in decode(data, len(several))] == list(map(plain, several))


@given(st.lists(readings(), min_size=2, max_size=4), st.data())
def test_of_several_answers_those_before_a_cut_arrive(several: list[Reading], data: st.DataObject) -> None:
    texts = [sent(reading, place) for place, reading in enumerate(several)]
    complete = b"".join(texts)
    cut = data.draw(st.integers(0, len(complete) - 1))
    ends = list(accumulate(map(len, texts)))
    answers = decode(complete[:cut], len(several))
    for reading, end in zip(several, ends, strict=True):
        if end > cut:
            with pytest.raises(ValueError, match=r".+"):
                next(answers)
            return
        assert plain(next(answers).reading) == plain(reading)


@pytest.mark.parametrize("places", [[1], [0, 0], [0, 2], [1, 0]])
def test_an_answer_for_another_report_is_refused(places: list[int]) -> None:
    data = b"".join(sent(Reading(1, [], ONE), place) for place in places)
    with pytest.raises(ValueError, match=r"an answer for report \d of the task, not \d"):
        list(decode(data, len(places)))


@pytest.mark.parametrize("index", ["0", None, 0.0, [0], True])
def test_a_launch_without_a_number_is_refused(index: object) -> None:
    with pytest.raises(ValueError, match="without a number"):
        only(sent(Reading(1, [], replace(ONE, index=[index]))))  # type: ignore[list-item]


@given(readings(), st.data())
def test_what_is_cut_is_refused(reading: Reading, data: st.DataObject) -> None:
    complete = sent(reading)
    with pytest.raises(ValueError, match=r".+"):
        only(complete[: data.draw(st.integers(0, len(complete) - 1))])


@given(readings(), st.binary(min_size=1, max_size=20))
def test_what_is_longer_than_it_says_is_refused(reading: Reading, more: bytes) -> None:
    with pytest.raises(ValueError, match="bytes after the last number"):
        only(sent(reading) + more)


@given(st.binary(max_size=60))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        only(data)


@pytest.mark.parametrize(
    "document",
    [
        [],
        {},
        {"report": 0},
        {"report": 0, "launches": {}},
        {"report": 0, "launches": {"index": [], "metrics": [], "counts": 1, "carried": []}},
    ],
)
def test_a_document_of_another_form_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match=r"KeyError|TypeError"):
        only(json.dumps(document).encode() + b"\n")


ONE = LaunchColumns(
    index=[0],
    kernel=["k"],
    demangled=["k()"],
    device=["GPU"],
    metrics=["a"],
    units=["byte"],
    values=[math.nan],
    counts=[1],
    carried=[[0]],
    instruction_metrics=["inst_executed"],
    address=[0],
    sass=["EXIT"],
    file=["x.cu"],
    line=[1],
    executed=[0],
    instruction_values=[32.0],
)


def test_a_launch_whose_instructions_have_no_metrics_named_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        only(sent(Reading(1, [], replace(ONE, counts=[1, 0]))))


def test_numbers_are_not_copied_when_they_arrive() -> None:
    data = sent(Reading(1, [], ONE))
    arrived = only(data).launches
    assert isinstance(arrived.values, memoryview)
    assert arrived.values.obj is data
