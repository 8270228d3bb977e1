"""The opcode table: each row is well formed, and the first row that covers an opcode is the intended one."""

from itertools import pairwise
from pathlib import Path
from typing import get_args

import pytest

from ncuview.sass import isa
from ncuview.sass.decode import decode
from ncuview.sass.instruction import Access, Space

FACTS = Path(__file__).with_name("nvdisasm_operands.tsv")
CONSTRUCTED_ONLY = {"CALL", "P2R", "R2P"}
"""nvdisasm does not mark their operands exactly; constructed cases check them."""
UNCONFIRMED = """
ACQSHMINIT BMSK BRXU CCTLL CCTLT CS2UR F2IP FSET HSETP2 I2I I2IP IDP4A IMUL ISCADD ISET JMP JMX JMXU KILL LOP MOV32I
OMMA PMTRIG PSETP R2B RTT SGXT SHL SHR SUATOM SUQUERY SURED TMML TXQ UBMSK UF2F UF2FP UF2I UF2IP UFADD UFFMA UFMNMX
UFMUL UFRND UFSEL UFSET UFSETP UI2F UI2FP UI2IP UIABS UIMNMX UP2UR UPSETP UR2UP USETMAXREG USGXT USHL USHR UTCSHIFT
UVIADD UVIADDMNMX UVIMNMX UVIMNMX3 WARPGROUPSET
"""
"""Opcodes that no code checked against nvdisasm holds; one leaves this list when its form joins the facts."""
PIPES = {"alu", "fma", "fmaheavy", "fp16", "fp64", "xu", "lsu", "tex", "adu", "cbu", "uniform", "tensor", "tma"}


def test_each_row_is_well_formed() -> None:
    for opcode, row in isa.rows():
        assert row.pipe in PIPES, opcode
        assert row.space in {None, *get_args(Space)}, opcode
        assert row.access in {None, *get_args(Access)}, opcode
        assert {each.kind for each in row.definitions} <= {"p", "d"}, opcode
        for width in (*(each.width for each in row.definitions), *row.sources):
            assert isa.width(width, isa.Form(opcode, ())) >= 0, opcode


def test_each_row_covers_its_own_opcode() -> None:
    """No row stands after a more general one of the same opcode, which would hide it."""
    for opcode, row in isa.rows():
        first = ".".join(part.partition("/")[0] for part in opcode.split("."))
        assert isa.operation(first) is row, opcode


def test_no_opcode_has_two_rows_for_the_same_modifiers() -> None:
    names = sorted(opcode for opcode, _ in isa.rows())
    assert [each for each, following in pairwise(names) if each == following] == []


def test_all_other_opcodes_are_confirmed_by_nvdisasm() -> None:
    lines = FACTS.read_text(encoding="utf-8").splitlines()
    confirmed = {decode(line.partition("\t")[0]).base_opcode for line in lines}
    assert isa.opcodes() - confirmed == {*UNCONFIRMED.split(), *CONSTRUCTED_ONLY}


@pytest.mark.parametrize(
    ("opcode", "width"),
    [("F2F.F64.F32", "2"), ("F2F.FTZ.F64.F32", "2"), ("F2F.F32.F64", "1"), ("F2F.BF16.F64", "1"), ("F2F.F64.F64", "2")],
)
def test_modifiers_count_in_their_order(opcode: str, width: str) -> None:
    assert isa.operation(opcode).definitions[0].width == width


@pytest.mark.parametrize("opcode", ["FROB", "frob", "", "LD4", "FROB.E.64"])
def test_unknown_opcodes(opcode: str) -> None:
    assert not isa.is_known(opcode)
    assert isa.operation(opcode) is isa.UNKNOWN
    assert isa.pipe(opcode) == ""


@pytest.mark.parametrize(
    ("opcode", "capability", "pipe"),
    [
        ("IMAD.WIDE", 70, "fma"),
        ("IMAD.WIDE", 80, "fmaheavy"),
        ("HFMA2", 80, "fp16"),
        ("HFMA2", 90, "fma"),
        ("FADD", 90, "fma"),
        ("DFMA", 90, "fp64"),
    ],
)
def test_pipes_differ_by_architecture(opcode: str, capability: int, pipe: str) -> None:
    assert isa.pipe(opcode, capability) == pipe


def test_pipe_changes_stand_newest_first_and_name_known_opcodes() -> None:
    for opcode, changes in isa.PIPE_CHANGES.items():
        assert isa.is_known(opcode)
        assert list(changes) == sorted(changes, reverse=True)
        assert set(changes.values()) <= PIPES
