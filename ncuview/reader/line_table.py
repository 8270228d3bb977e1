"""Parse the line tables of a cubin: ELF bytes -> per function, the source line and inlining call of each address.

``line_tables`` gives one ``LineTable`` per function: ``rows_at`` an address, and the outermost ``call_of`` a row.
.debug_line is DWARF's line program with one opcode of NVIDIA's own, which names the row of the call that the
following rows were inlined at. ncu_report gives the innermost line only, and no DWARF library knows that opcode. The
bytes are from an untrusted report, so every length in them is checked.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import NamedTuple

_ELF = b"\x7fELF\x02\x01"
"""64 bits, little-endian."""
_SECTIONS_AT, _SECTION_COUNTS_AT = 0x28, 0x3C
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_RELOCATIONS = {".rel.debug_line": struct.Struct("<QQ"), ".rela.debug_line": struct.Struct("<QQq")}
_CODE = ".text."

_COPY, _ADVANCE_ADDRESS, _ADVANCE_LINE, _SET_FILE, _CONST_ADD, _FIXED_ADVANCE = 1, 2, 3, 4, 8, 9
_END, _SET_ADDRESS, _INLINED_AT = 1, 2, 0x90
_VERSIONS = range(2, 5)
_MOST_BITS = 70


class LineTableError(ValueError):
    """The bytes are no cubin with a line table of a known form."""


class Row(NamedTuple):
    """The source line of the instructions from this address up to that of the next row."""

    address: int
    """Bytes from the start of the function's section."""
    file: str
    line: int
    inlined_at: int
    """The place, from 1, among the function's rows of the call that the line was inlined at; 0 where it was not."""


@dataclass(frozen=True)
class LineTable:
    """The rows of one function's code, in the order of its line program."""

    function: str
    """Its mangled name."""
    rows: Sequence[Row]

    @cached_property
    def _at(self) -> dict[int, list[Row]]:
        found: dict[int, list[Row]] = {}
        for row in sorted(self.rows, key=attrgetter("address")):
            found.setdefault(row.address, []).append(row)
        return found

    @cached_property
    def _addresses(self) -> list[int]:
        return list(self._at)

    def rows_at(self, address: int) -> Sequence[Row]:
        """The rows of an instruction, each inlined at the one before; empty where its address is before all rows."""
        place = bisect_right(self._addresses, address)
        return self._at[self._addresses[place - 1]] if place else ()

    def call_of(self, row: Row) -> Row | None:
        """The outermost call that a row's code was inlined at, a line of the function itself; None if not inlined."""
        found, before = None, len(self.rows) + 1
        while 0 < row.inlined_at < before:  # each call stands before what was inlined at it, or the table is wrong
            before = row.inlined_at
            found = row = self.rows[before - 1]
        return found if row.inlined_at == 0 else None


def line_tables(cubin: bytes, names: Collection[str]) -> tuple[LineTable, ...]:
    """The line tables of a module's functions; none where it was compiled without line information.

    Args:
        cubin: The module.
        names: Only functions that have one of these in their linker name.

    Raises:
        LineTableError: The bytes are no cubin, or its line table is damaged or of an unknown form.
    """
    try:
        return tuple(_tables(cubin, names))
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise LineTableError(str(error)) from error


def machine_code(cubin: bytes, names: Collection[str]) -> dict[str, bytes]:
    """The encoded instructions of a module's functions that have one of these names in their linker name.

    Raises:
        LineTableError: The bytes are no cubin.
    """
    if not cubin.startswith(_ELF):
        raise LineTableError("the bytes are no cubin")
    try:
        return _Elf(cubin).code(names)
    except (struct.error, IndexError, ValueError, OverflowError) as error:
        raise LineTableError(str(error)) from error


def _tables(cubin: bytes, names: Collection[str]) -> Iterator[LineTable]:
    if not cubin.startswith(_ELF):
        raise LineTableError("the bytes are no cubin")
    elf = _Elf(cubin)
    program = elf.content(".debug_line")
    functions = {
        place: function
        for place, function in elf.functions_at_addresses().items()
        if any(name in function for name in names)
    }
    start = 0
    while functions and start < len(program):
        unit = _Unit(program, start)
        for place, rows in unit.sequences():
            if place in functions:
                yield LineTable(functions[place], rows)
        start = unit.end


class _Elf:
    """The parts of an ELF file that a line table needs: named sections, and the symbols that its addresses refer to."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        (start,) = struct.unpack_from("<Q", data, _SECTIONS_AT)
        count, names = struct.unpack_from("<HH", data, _SECTION_COUNTS_AT)
        sections = [_SECTION.unpack_from(data, start + place * _SECTION.size) for place in range(count)]
        self._spans = [(section[4], section[4] + section[5]) for section in sections]
        self._names = [self._text(names, section[0]) for section in sections]

    def content(self, name: str) -> bytes:
        """A section's bytes; empty where there is no such section."""
        return self._data[slice(*self._spans[self._names.index(name)])] if name in self._names else b""

    def code(self, names: Collection[str]) -> dict[str, bytes]:
        """The code of each function that has one of these in its name."""
        found = (name.removeprefix(_CODE) for name in self._names if name.startswith(_CODE))
        return {each: self.content(_CODE + each) for each in found if any(name in each for name in names)}

    def functions_at_addresses(self) -> dict[int, str]:
        """Place in .debug_line of each address that starts a function -> the function's name."""
        symbols = list(_SYMBOL.iter_unpack(_truncated(self.content(".symtab"), _SYMBOL.size)))
        found = {}
        for section, layout in _RELOCATIONS.items():
            for place, what, *_ in layout.iter_unpack(_truncated(self.content(section), layout.size)):
                home = self._names[symbols[what >> 32][3]]
                if home.startswith(_CODE):
                    found[place] = home.removeprefix(_CODE)
        return found

    def _text(self, section: int, place: int) -> str:
        start, end = self._spans[section]
        return self._data[start + place : self._data.index(b"\0", start + place, end)].decode("utf-8", "replace")


def _truncated(content: bytes, size: int) -> bytes:
    return content[: len(content) - len(content) % size]


class _Unit:
    """One line program of .debug_line, with its table of files."""

    def __init__(self, data: bytes, start: int) -> None:
        length, version, header = struct.unpack_from("<IHI", data, start)
        self.end = start + 4 + length
        if self.end > len(data) or version not in _VERSIONS:
            raise LineTableError(f"an unsupported line program: version {version}, {length:,} bytes")
        self._data = data
        self._program = start + 10 + header
        reader = _Reader(data, start + 10, self.end)
        self._step = reader.unsigned(1)
        if version > 3:
            reader.unsigned(1)
        reader.unsigned(1)
        self._line_base = reader.signed_byte()
        self._line_range = reader.unsigned(1)
        self._first_special = reader.unsigned(1)
        self._operands = [reader.unsigned(1) for _ in range(self._first_special - 1)]
        folders = ["", *iter(reader.text, "")]
        self._files = [""]
        for name in iter(reader.text, ""):
            folder = folders[reader.leb()]
            self._files.append(f"{folder}/{name}" if folder and not name.startswith("/") else name)
            reader.leb()
            reader.leb()
        if not self._line_range:
            raise LineTableError("its range of lines is 0")

    def sequences(self) -> Iterator[tuple[int, list[Row]]]:
        """For each function the place of its address in .debug_line, and its rows."""
        reader = _Reader(self._data, self._program, self.end)
        state, rows = _State(), list[Row]()
        while reader.position < self.end:
            code = reader.unsigned(1)
            if code == 0:
                if _extended(reader, state) == _END:
                    yield state.place, rows
                    state, rows = _State(), list[Row]()
            elif code >= self._first_special or code == _COPY:
                steps, lines = divmod(code - self._first_special, self._line_range) if code != _COPY else (0, 0)
                state.address += steps * self._step
                state.line += lines + (self._line_base if code != _COPY else 0)
                rows.append(Row(state.address, self._files[state.file], state.line, state.inlined_at))
            else:
                self._standard(code, reader, state)

    def _standard(self, code: int, reader: _Reader, state: _State) -> None:
        if code == _ADVANCE_ADDRESS:
            state.address += reader.leb() * self._step
        elif code == _ADVANCE_LINE:
            state.line += reader.signed_leb()
        elif code == _SET_FILE:
            state.file = reader.leb()
        elif code == _CONST_ADD:
            state.address += (255 - self._first_special) // self._line_range * self._step
        elif code == _FIXED_ADVANCE:
            state.address += reader.unsigned(2)
        else:
            for _ in range(self._operands[code - 1]):
                reader.leb()


@dataclass
class _State:
    """The registers of a line program, as each function finds them."""

    place: int = -1
    """Where in .debug_line the function's address is."""
    address: int = 0
    file: int = 1
    line: int = 1
    inlined_at: int = 0


def _extended(reader: _Reader, state: _State) -> int:
    """Execute an extended opcode, and return it."""
    length = reader.leb()
    after = reader.position + length
    code = reader.unsigned(1) if length else 0
    if code == _SET_ADDRESS:
        state.place, state.address = reader.position, reader.unsigned(8)
    elif code == _INLINED_AT:
        state.inlined_at = reader.leb()
    reader.position = after
    return code


class _Reader:
    """Numbers and texts one after the other, up to an end."""

    def __init__(self, data: bytes, position: int, end: int) -> None:
        self._data = data
        self.position = position
        self._end = end

    def unsigned(self, size: int) -> int:
        start, self.position = self.position, self.position + size
        if self.position > self._end:
            raise LineTableError("a number is cut off")
        return int.from_bytes(self._data[start : self.position], "little")

    def signed_byte(self) -> int:
        value = self.unsigned(1)
        return value - 256 if value > 127 else value

    def leb(self) -> int:
        return self._leb()[0]

    def signed_leb(self) -> int:
        value, bits = self._leb()
        return value - (1 << bits) if value >> (bits - 1) else value

    def _leb(self) -> tuple[int, int]:
        """A number in groups of seven bits, and how many bits it has."""
        value = 0
        for bits in range(0, _MOST_BITS, 7):
            byte = self.unsigned(1)
            value |= (byte & 0x7F) << bits
            if byte < 0x80:
                return value, bits + 7
        raise LineTableError("a number is longer than 64 bits")

    def text(self) -> str:
        end = self._data.index(b"\0", self.position, self._end)
        text = self._data[self.position : end].decode("utf-8", "replace")
        self.position = end + 1
        return text
