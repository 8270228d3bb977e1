"""Parse and encode the report file format: file header, blocks and the protobuf messages in them, as spans of bytes.

``blocks`` gives the blocks of a report, ``items`` the messages of a block, ``fields`` the fields of a message.
A report is a magic number, a file header, and blocks up to the exact end of the file. A block is a header and a
payload; a payload is a sequence of messages. Everything is parsed strictly, from the complete file's bytes, and given
as a span of them, so that nothing is copied and every error has its offset.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from mmap import mmap
from typing import NamedTuple

Data = bytes | mmap
"""A complete report, in memory or mapped into it."""

MAGIC = b"NVR\0"
FORMAT_VERSION = 7

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5
_SIZES = {FIXED64: 8, FIXED32: 4}

_LONGEST_FILE_HEADER = 64
_VARINT_BITS = 70
_SEVEN_BITS = 0x80
"""A byte below it is a complete varint; almost all are."""
_LARGEST_FIELD_NUMBER = 100_000
_SMALLEST_KEY, _LARGEST_KEY = 1 << 3, (_LARGEST_FIELD_NUMBER + 1) << 3
_MOST_BLOCKS = 400_000
"""A launch takes two or three. Many more would take minutes to parse."""
_LARGEST_COPY = 1 << 20
"""A message up to this size is copied to bytes, which parse three times as fast as a map; modules may be larger."""
_MOST_FIELDS = 100_000
"""Fields of one message; real ones have some hundred."""

_VERSION = 1
_SOURCES = 1
_KERNELS = 2
_SESSION = 3
_PAYLOAD_SIZE = 5
_RANGES = (7, 8, 9)
_NUMBERS_OF_HEADER = frozenset({_SOURCES, _KERNELS, _PAYLOAD_SIZE, *_RANGES})


class WireError(Exception):
    """The bytes break the format.

    Attributes:
        offset: The byte of the file at which they do.
    """

    def __init__(self, offset: int, reason: str) -> None:
        super().__init__(reason)
        self.offset = offset


class Span(NamedTuple):
    """Bytes ``start`` to ``end`` of the file, ``end`` not included."""

    start: int
    end: int

    @property
    def size(self) -> int:
        """How many bytes they are."""
        return self.end - self.start


class Field(NamedTuple):
    """One field of a message: the bytes ``start`` to ``end``, of which the value begins at ``body``."""

    number: int
    wire_type: int
    value: int
    """The number that a varint holds; 0 for the other wire types."""
    start: int
    body: int
    end: int

    @property
    def content(self) -> Span:
        """The value's bytes."""
        return Span(self.body, self.end)


class Block(NamedTuple):
    """One block: its header, its payload, and how many messages of each kind the payload must hold, in this order."""

    header: Span
    payload: Span
    sessions: tuple[Span, ...]
    """Messages about the run."""
    sources: int
    kernels: int
    ranges: int
    """Ranges, command lists and graphs, which are launches too."""

    @property
    def results(self) -> int:
        """How many launches it holds."""
        return self.kernels + self.ranges


Row = tuple[int, int, int, int, int, int]
"""A field as a plain tuple, which takes half of the time; in the order of ``Field``."""


class Outline(NamedTuple):
    """All fields of one message."""

    last: Mapping[int, Field]
    """The last field of each number."""
    rows: Sequence[Row]
    """All fields."""


def format_version(data: Data) -> int:
    """The version of the file format.

    Raises:
        WireError: The file header is damaged.
    """
    span = _file_header(data)
    versions = [field.value for field in fields(data, span) if field.number == _VERSION and field.wire_type == VARINT]
    return versions[-1] if versions else 0


def blocks(data: Data) -> Iterator[Block]:
    """All blocks of a report.

    Raises:
        WireError: A block is damaged or cut short, bytes follow the last one, there is none, or there are too many.
    """
    position = _file_header(data).end
    if position == len(data):
        raise WireError(position, "the file ends before its first block")
    count = 0
    while position < len(data):
        if count == _MOST_BLOCKS:
            raise WireError(position, f"the file has more than {_MOST_BLOCKS:,} blocks")
        block = _block(data, position)
        yield block
        count += 1
        position = block.payload.end


def items(data: Data, block: Block) -> Iterator[Span]:
    """The messages of a block's payload: sources, then kernels, then ranges.

    Raises:
        WireError: A message overruns the payload, or there are more or fewer than the block's header says.
    """
    position = block.payload.start
    count = 0
    while position < block.payload.end:
        span = _framed(data, position, block.payload.end)
        yield span
        count += 1
        position = span.end
    announced = block.sources + block.results
    if count != announced:
        raise WireError(block.header.start, f"the block holds {count:,} items, its header says {announced:,}")


def fields(data: Data, span: Span) -> Iterator[Field]:
    """The fields of one message.

    Raises:
        WireError: The bytes are no message, or one of very many fields.
    """
    return map(Field._make, _rows(data, span))


def contents(data: Data, span: Span, number: int, *inner: int) -> Iterator[Span]:
    """The values of the fields of this number, or of those at a path of numbers into the messages that they hold.

    Raises:
        WireError: The bytes, or those of a field on the path, are no message.
    """
    for field in fields(data, span):
        if field.number == number:
            if inner:
                yield from contents(data, field.content, *inner)
            else:
                yield field.content


def outline(data: Data, span: Span) -> Outline:
    """All fields of one message, in half the time that it takes to name them.

    Raises:
        WireError: The bytes are no message, or one of very many fields.
    """
    rows = _rows(data, span)
    return Outline({row[0]: Field._make(row) for row in {row[0]: row for row in rows}.values()}, rows)


def encode_varint(value: int) -> bytes:
    """A number of 0 or more as a varint."""
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def encode_field(number: int, value: int | bytes) -> bytes:
    """A field that holds a number (of 0 or more) or bytes."""
    if isinstance(value, int):
        return encode_varint(number << 3 | VARINT) + encode_varint(value)
    return encode_varint(number << 3 | BYTES) + encode_varint(len(value)) + value


def encode_item(message: bytes) -> bytes:
    """A message after its length, as in payloads."""
    return len(message).to_bytes(4, "little") + message


def encode_report(contents: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A report file of these blocks: each a header without its payload's size, and a payload."""
    parts = [MAGIC, encode_item(encode_field(_VERSION, FORMAT_VERSION))]
    for header, payload in contents:
        parts += [encode_item(header + encode_field(_PAYLOAD_SIZE, len(payload))), payload]
    return b"".join(parts)


def _file_header(data: Data) -> Span:
    if data[: len(MAGIC)] != MAGIC:
        raise WireError(0, "the file does not start like a report")
    span = _framed(data, len(MAGIC), len(data))
    if span.end - span.start > _LONGEST_FILE_HEADER:
        raise WireError(len(MAGIC), "the file header is too long")
    return span


def _block(data: Data, position: int) -> Block:
    header = _framed(data, position, len(data))
    if header.start == header.end:
        raise WireError(position, "a block has no header")
    numbers = dict.fromkeys(_NUMBERS_OF_HEADER, 0)
    sessions = []
    for number, wire_type, value, start, body, end in _rows(data, header):
        if number in numbers:
            if wire_type != VARINT:
                raise WireError(start, "a count in a block's header is no number")
            numbers[number] = value
        elif number == _SESSION:
            sessions.append(Span(body, end))
    payload = Span(header.end, header.end + numbers[_PAYLOAD_SIZE])
    if payload.end > len(data):
        raise WireError(header.end, "a block runs past the end of the file")
    ranges = sum([numbers[number] for number in _RANGES])
    return Block(header, payload, tuple(sessions), numbers[_SOURCES], numbers[_KERNELS], ranges)


def _framed(data: Data, position: int, end: int) -> Span:
    start = position + 4
    if start > end:
        raise WireError(position, "a length is cut off")
    span = Span(start, start + int.from_bytes(data[position:start], "little"))
    if span.end > end:
        raise WireError(position, "a length runs past the end of what holds it")
    return span


def _rows(data: Data, span: Span) -> list[Row]:
    """All fields of one message, in one flat loop: a report has millions, and a call takes as long as one of them."""
    message, first, (position, end) = data, 0, span
    if span.size <= _LARGEST_COPY:
        message, first, (position, end) = data[position:end], position, (0, span.size)
    rows: list[Row] = []
    while position < end:
        start, key = position, message[position]
        if key < _SEVEN_BITS:
            position += 1
        else:
            key, position = _varint(message, position, end, first)
        body, value = position, 0
        wire_type = key & 7
        if wire_type == BYTES:
            if position < end and message[position] < _SEVEN_BITS:
                body = position + 1
                position = body + message[position]
            else:
                length, body = _varint(message, position, end, first)
                position = body + length
        elif wire_type == VARINT:
            value, position = _varint(message, position, end, first)
        else:
            position += _SIZES.get(wire_type, end)
        if position > end or not _SMALLEST_KEY <= key < _LARGEST_KEY:
            raise _no_field(key, first + start)
        rows.append((key >> 3, wire_type, value, first + start, first + body, first + position))
        if len(rows) > _MOST_FIELDS:
            raise WireError(first, f"a message has more than {_MOST_FIELDS:,} fields")
    return rows


def _no_field(key: int, start: int) -> WireError:
    """Why there is no field with this key at this byte."""
    number, wire_type = key >> 3, key & 7
    if not 1 <= number <= _LARGEST_FIELD_NUMBER:
        return WireError(start, f"no field has the number {number}")
    if wire_type not in {VARINT, BYTES, *_SIZES}:
        return WireError(start, f"no field has the wire type {wire_type}")
    return WireError(start, "a field runs past the end of its message")


def _varint(data: Data, position: int, end: int, first: int) -> tuple[int, int]:
    """A number and the byte after it, in a message that begins at byte ``first`` of the file."""
    start = position
    value = shift = 0
    while position < end and shift < _VARINT_BITS:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < _SEVEN_BITS and not value >> 64:
            return value, position
        shift += 7
    raise WireError(first + start, "a number is cut off or longer than 64 bits")
