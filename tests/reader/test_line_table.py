"""Line tables of real modules agree with ncu instruction by instruction; made ones test each opcode."""

from __future__ import annotations

import struct
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ncuview.base.paths import shipped
from ncuview.reader import wire
from ncuview.reader.line_table import LineTable, LineTableError, Row, line_tables
from ncuview.reader.precheck import read_report

COPY = b"\x01"
END = b"\x00\x01\x01"
ADDRESS = b"\x00\x09\x02" + bytes(8)
LINE_BASE, LINE_RANGE, FIRST_SPECIAL = -5, 14, 10


def leb(value: int) -> bytes:
    return wire.encode_varint(value)


def signed(value: int) -> bytes:
    """A signed number in groups of seven bits."""
    encoded = bytearray()
    while not -64 <= value < 64:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*encoded, value & 0x7F])


def lines(by: int) -> bytes:
    return b"\x03" + signed(by)


def addresses(by: int) -> bytes:
    return b"\x02" + leb(by)


def file(number: int) -> bytes:
    return b"\x04" + leb(number)


def inlined_at(row: int, name: int = 0) -> bytes:
    operands = b"\x90" + leb(row) + leb(name)
    return b"\x00" + leb(len(operands)) + operands


def special(by_address: int, by_line: int) -> bytes:
    return bytes([FIRST_SPECIAL + by_address * LINE_RANGE + by_line - LINE_BASE])


def unit(program: bytes, version: int = 2) -> bytes:
    """A line program over a.cu, in src, and b.h, in no folder."""
    about = struct.pack("<BBbBB", 1, 1, LINE_BASE, LINE_RANGE, FIRST_SPECIAL) + bytes([0, 1, 1, 1, 1, 0, 0, 0, 1])
    files = b"src\0\0" + b"a.cu\0\x01\x00\x00" + b"b.h\0\x00\x00\x00" + b"\0"
    header = about + files
    rest = struct.pack("<HI", version, len(header)) + header + program
    return struct.pack("<I", len(rest)) + rest


def cubin(debug_line: bytes, function: str = "kernel") -> bytes:
    """An ELF file with this section, whose addresses are all those of one function."""
    code = f".text.{function}"
    places = [place + 3 for place in range(len(debug_line)) if debug_line.startswith(ADDRESS, place)]
    symbols = struct.pack("<IBBHQQ", 0, 0, 0, 0, 0, 0) + struct.pack("<IBBHQQ", 0, 0, 0, 1, 0, 0)
    contents = {
        "": b"",
        code: b"",
        ".symtab": symbols,
        ".debug_line": debug_line,
        ".rela.debug_line": b"".join(struct.pack("<QQq", place, 1 << 32 | 2, 0) for place in places),
    }
    contents[".shstrtab"] = b"".join(name.encode() + b"\0" for name in [*contents, ".shstrtab"])
    names, headers, body, start = contents[".shstrtab"], b"", b"", 64
    for name, content in contents.items():
        at = names.index(name.encode() + b"\0")
        headers += struct.pack("<IIQQQQIIQQ", at, 1, 0, 0, start + len(body), len(content), 0, 0, 0, 0)
        body += content
    head = bytearray(64)
    head[:6] = b"\x7fELF\x02\x01"
    struct.pack_into("<Q", head, 0x28, start + len(body))
    struct.pack_into("<HH", head, 0x3C, len(contents), len(contents) - 1)
    return bytes(head) + body + headers


def table_of(program: bytes) -> LineTable:
    (table,) = line_tables(cubin(unit(ADDRESS + program + END)), {"kernel"})
    return table


def test_every_opcode_moves_what_it_should() -> None:
    program = (
        lines(9) + COPY  # 0: line 10
        + special(16, 2)  # 16: line 12
        + addresses(300) + lines(-3) + COPY  # 316: line 9
        + file(2) + b"\x09\x20\x00" + COPY  # 348, in the other file
        + b"\x08" + b"\x05\x81\x01" + b"\x06" + COPY  # 365: as far as the last special opcode; column and is_stmt
    )  # fmt: skip
    assert [row[:3] for row in table_of(program).rows] == [
        (0, "src/a.cu", 10),
        (16, "src/a.cu", 12),
        (316, "src/a.cu", 9),
        (348, "b.h", 9),
        (365, "b.h", 9),
    ]


def test_an_instruction_is_of_the_rows_at_or_before_it() -> None:
    table = table_of(lines(9) + COPY + special(16, 2) + inlined_at(2) + file(2) + COPY)
    assert [row.line for row in table.rows_at(8)] == [10]
    assert [row.file for row in table.rows_at(16)] == ["src/a.cu", "b.h"]
    assert [row.file for row in table.rows_at(10_000)] == ["src/a.cu", "b.h"]
    assert not table.rows_at(-1)


def test_the_outermost_call_is_the_kernels_own_line() -> None:
    """The kernel calls a function, and that another, both inlined; then comes the kernel again."""
    program = (
        lines(9) + COPY + inlined_at(1) + lines(20) + COPY + inlined_at(2) + lines(30) + COPY + inlined_at(0) + COPY
    )
    table = table_of(program)
    calls = [table.call_of(row) for row in table.rows]
    assert [call and call.line for call in calls] == [None, 10, 10, None]


@pytest.mark.parametrize("row", [2, 3, 200])
def test_a_call_that_does_not_come_before_is_not_used(row: int) -> None:
    table = table_of(lines(9) + COPY + inlined_at(row) + COPY + COPY)
    assert table.call_of(table.rows[1]) is None


def test_calls_that_call_each_other_end() -> None:
    rows = [Row(0, "a", 1, 2), Row(0, "a", 2, 1), Row(0, "a", 3, 2)]
    assert LineTable("kernel", rows).call_of(rows[2]) is None


def test_only_functions_that_are_asked_for_are_read() -> None:
    module = cubin(unit(ADDRESS + COPY + END) + unit(ADDRESS + COPY + END), "_Z6gatherIfLi4EEvPT_PKS0_i")
    assert [table.function for table in line_tables(module, {"gather"})] == ["_Z6gatherIfLi4EEvPT_PKS0_i"] * 2
    assert not line_tables(module, {"scatter"})


def test_a_module_without_line_information_has_no_tables() -> None:
    assert not line_tables(cubin(b""), {"kernel"})


@pytest.mark.parametrize(
    "module",
    [
        b"",
        b"\x7fELF",
        b"\x7fELF\x01\x01" + bytes(100),
        cubin(unit(ADDRESS + COPY + END, version=5)),
        cubin(unit(ADDRESS + file(9) + COPY + END)),
        cubin(unit(ADDRESS + COPY + END)[:-1]),
        cubin(unit(ADDRESS + addresses(1)[:1] + b"\xff" * 20 + END)),
        cubin(unit(ADDRESS + COPY + END).replace(bytes([LINE_RANGE, FIRST_SPECIAL]), bytes([0, FIRST_SPECIAL]))),
    ],
    ids=["empty", "cut", "32 bits", "version", "file", "length", "number", "range"],
)
def test_what_is_no_line_table_is_refused(module: bytes) -> None:
    with pytest.raises(LineTableError):
        line_tables(module, {"kernel"})


@given(st.binary(max_size=200))
def test_any_program_is_read_or_refused(program: bytes) -> None:
    try:
        tables = line_tables(cubin(unit(ADDRESS + program)), {"kernel"})
    except LineTableError:
        return
    for table in tables:
        for row in table.rows:
            assert row.address >= 0
            assert row in table.rows_at(row.address)
            table.call_of(row)


@cache
def real_module() -> bytes:
    data = read_report(shipped("kernels") / "reduction" / "h200.ncu-repz")
    block = next(block for block in wire.blocks(data) if block.sources)
    return next(data[slice(*span)] for span in wire.contents(data, next(wire.items(data, block)), 4))


@example(place=44, change=b"\0\0\0\x80")  # sections that start beyond what an address can say
@given(st.integers(0, 1 << 20), st.binary(min_size=1, max_size=8))
def test_a_changed_module_is_read_or_refused(place: int, change: bytes) -> None:
    module = bytearray(real_module())
    place %= len(module)
    module[place : place + len(change)] = change
    try:
        line_tables(bytes(module), {"reduce"})
    except LineTableError:
        return


def test_the_files_of_a_real_module_are_named_with_their_folders() -> None:
    tables = line_tables(real_module(), {"reduce"})
    assert {Path(row.file).name for table in tables for row in table.rows} == {"reduce_v1.cu"}
