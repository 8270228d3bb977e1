"""Launches as columns: what a child process sends arrives, and bytes that are cut or too long are refused."""

from __future__ import annotations

import json
import math
from array import array
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.reader.columns import FLOAT64, INT64, LaunchColumns, Reading, decode, encode

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


def sent(reading: Reading) -> bytes:
    return b"".join(encode(reading))


def plain(reading: Reading) -> dict[str, object]:
    """All that a reading says, to be compared: numbers bit by bit, since NaN equals nothing."""
    texts = dict(vars(reading.launches))
    kinds = {"values": FLOAT64, "instruction_values": FLOAT64, "executed": INT64}
    numbers = {name: array(kind, texts.pop(name)).tobytes() for name, kind in kinds.items()}
    return {"total": reading.total, "kernels": reading.kernels, **texts, **numbers}


@given(readings())
def test_what_is_sent_arrives(reading: Reading) -> None:
    assert plain(decode(sent(reading))) == plain(reading)


@given(readings(), st.data())
def test_what_is_cut_is_refused(reading: Reading, data: st.DataObject) -> None:
    complete = sent(reading)
    with pytest.raises(ValueError, match=r".+"):
        decode(complete[: data.draw(st.integers(0, len(complete) - 1))])


@given(readings(), st.binary(min_size=1, max_size=20))
def test_what_is_longer_than_it_says_is_refused(reading: Reading, more: bytes) -> None:
    with pytest.raises(ValueError, match="bytes of numbers, not"):
        decode(sent(reading) + more)


@given(st.binary(max_size=60))
def test_other_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r".+"):
        decode(data)


@pytest.mark.parametrize(
    "document", [[], {}, {"launches": {}}, {"launches": {"index": [], "metrics": [], "counts": 1, "carried": []}}]
)
def test_a_document_of_another_form_is_refused(document: object) -> None:
    with pytest.raises(ValueError, match=r"KeyError|TypeError"):
        decode(json.dumps(document).encode() + b"\n")


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
        decode(sent(Reading(1, [], replace(ONE, counts=[1, 0]))))


def test_numbers_are_not_copied_when_they_arrive() -> None:
    data = sent(Reading(1, [], ONE))
    arrived = decode(data).launches
    assert isinstance(arrived.values, memoryview)
    assert arrived.values.obj is data
