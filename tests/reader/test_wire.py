"""The wire format: what is encoded is parsed again, and other bytes are refused."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.reader import wire
from ncuview.reader.wire import Span, WireError
from tests.reader import builder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

numbers = st.integers(1, 100_000)
values = st.integers(0, 2**64 - 1) | st.binary(max_size=300)


Content = int | bytes


def span_of(data: bytes) -> Span:
    return Span(0, len(data))


def decoded(data: bytes) -> list[tuple[int, Content]]:
    return [
        (field.number, field.value if field.wire_type == wire.VARINT else data[slice(*field.content)])
        for field in wire.fields(data, span_of(data))
    ]


def refused_at(read: Callable[[], Iterable[object]]) -> int | None:
    try:
        list(read())
    except WireError as error:
        return error.offset
    return None


@given(st.lists(st.tuples(numbers, values)))
def test_fields_are_read_as_they_were_written(contents: list[tuple[int, Content]]) -> None:
    data = b"".join(wire.encode_field(number, value) for number, value in contents)
    assert decoded(data) == contents


@given(st.lists(st.tuples(numbers, values)), st.binary(max_size=8), st.binary(max_size=40))
def test_a_message_too_large_to_copy_is_read_in_its_place(
    contents: list[tuple[int, Content]], before: bytes, end: bytes
) -> None:
    message = b"".join(wire.encode_field(number, value) for number, value in contents) + end
    span = Span(len(before), len(before) + len(message))

    def read() -> tuple[list[wire.Field], int | None]:
        found: list[wire.Field] = []
        return found, refused_at(lambda: map(found.append, wire.fields(before + message + b"x", span)))

    copied = read()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wire, "_LARGEST_COPY", -1)
        assert read() == copied


@given(st.lists(st.tuples(numbers, values)))
def test_fields_cover_the_message_without_gaps(contents: list[tuple[int, Content]]) -> None:
    data = b"".join(wire.encode_field(number, value) for number, value in contents)
    assert b"".join(data[field.start : field.end] for field in wire.fields(data, span_of(data))) == data


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**32 - 1))
def test_numbers_of_fixed_width_are_read(eight_bytes: int, four_bytes: int) -> None:
    data = b"\x09" + struct.pack("<Q", eight_bytes) + b"\x15" + struct.pack("<I", four_bytes)
    assert decoded(data) == [(1, struct.pack("<Q", eight_bytes)), (2, struct.pack("<I", four_bytes))]


@given(st.lists(st.tuples(st.lists(st.binary(max_size=40)), st.lists(st.binary(max_size=40))), min_size=1))
def test_blocks_and_items_are_read_as_they_were_written(contents: list[tuple[list[bytes], list[bytes]]]) -> None:
    data = wire.encode_report(builder.block(sources=sources, kernels=kernels) for sources, kernels in contents)
    read = [(block, [data[slice(*item)] for item in wire.items(data, block)]) for block in wire.blocks(data)]
    assert [items for _, items in read] == [sources + kernels for sources, kernels in contents]
    assert [(block.sources, block.kernels) for block, _ in read] == [(len(s), len(k)) for s, k in contents]


def test_contents_follow_a_path_of_numbers_through_every_repetition() -> None:
    inner = wire.encode_field(2, b"first") + wire.encode_field(2, b"second")
    data = wire.encode_field(1, inner) + wire.encode_field(3, b"other") + wire.encode_field(1, inner)
    assert [data[slice(*span)] for span in wire.contents(data, span_of(data), 1, 2)] == [b"first", b"second"] * 2


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_refused_at_a_place_in_them(data: bytes) -> None:
    offset = refused_at(lambda: wire.fields(data, span_of(data)))
    assert offset is None or 0 <= offset <= len(data)


@given(st.binary(max_size=200))
def test_any_bytes_after_the_magic_are_blocks_or_refused_at_a_place_in_them(data: bytes) -> None:
    offset = refused_at(lambda: wire.blocks(wire.MAGIC + data))
    assert offset is None or 0 <= offset <= len(wire.MAGIC + data)


@pytest.mark.parametrize(
    ("data", "offset"),
    [
        pytest.param(b"\x08", 1, id="no value"),
        pytest.param(b"\x08\x80\x80", 1, id="number cut off"),
        pytest.param(b"\x08" + b"\x80" * 10 + b"\x00", 1, id="number of 11 bytes"),
        pytest.param(b"\x08" + b"\xff" * 9 + b"\x02", 1, id="number of 65 bits"),
        pytest.param(b"\x08\x01\x00\x01", 2, id="field 0"),
        pytest.param(wire.encode_field(100_001, 1), 0, id="field 100,001"),
        pytest.param(b"\x0b\x0c", 0, id="group"),
        pytest.param(b"\x0e", 0, id="wire type 6"),
        pytest.param(b"\x08\x01\x0a\x05abcd", 2, id="text overruns"),
        pytest.param(b"\x09\x00\x00\x00\x00", 0, id="8 bytes overrun"),
        pytest.param(b"\x0d\x00\x00\x00", 0, id="4 bytes overrun"),
        pytest.param(b"\x0a" + b"\xff" * 9 + b"\x01", 0, id="length of 64 bits"),
    ],
)
def test_what_is_no_message_is_refused_at_its_offset(data: bytes, offset: int) -> None:
    with pytest.raises(WireError) as refused:
        wire.outline(data, span_of(data))
    assert refused.value.offset == offset


def test_a_number_in_more_bytes_than_it_needs_is_read() -> None:
    assert decoded(b"\x08\x81\x80\x00") == [(1, 1)]


def test_a_long_run_of_continued_bytes_is_refused_at_once() -> None:
    with pytest.raises(WireError):
        wire.outline(b"\x08" + b"\xff" * 10_000_000, Span(0, 10_000_001))


def test_a_block_header_whose_count_is_a_text_is_refused() -> None:
    data = wire.encode_report([(wire.encode_field(2, b"one"), b"")])
    with pytest.raises(WireError):
        list(wire.blocks(data))
