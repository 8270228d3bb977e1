"""Classes of instructions."""

from __future__ import annotations

import pytest

from ncuview.sass import opcode_classes
from ncuview.sass.decode import decode
from ncuview.sass.opcode_classes import Class

MEMBERS: list[tuple[Class, str]] = [
    (opcode_classes.is_global_load, "LDG.E.128.CONSTANT R4, desc[UR4][R2.64]"),
    (opcode_classes.is_global_load, "@!P0 LD.E R4, [R2.64]"),
    (opcode_classes.is_global_store, "STG.E desc[UR4][R2.64], R4"),
    (opcode_classes.is_global_store, "ST.E.64 desc[UR4][R2.64], R4"),
    (opcode_classes.is_global_atomic, "REDG.E.ADD.STRONG.GPU desc[UR4][R18.64], R17"),
    (opcode_classes.is_global_atomic, "RED.E.ADD.STRONG.GPU [R18.64], R17"),
    (opcode_classes.is_global_atomic, "ATOMG.E.ADD.STRONG.GPU PT, R4, desc[UR4][R18.64], R17"),
    (opcode_classes.is_global_atomic, "ATOM.E.CAS.STRONG.GPU PT, R0, [R8], R5, R3"),
    (opcode_classes.is_shared_access, "LDS.128 R4, [R2]"),
    (opcode_classes.is_shared_access, "STS [R2+0x10], R4"),
    (opcode_classes.is_shared_access, "LDSM.16.M88.4 R4, [R2]"),
    (opcode_classes.is_operand_load, "LDS R4, [R2]"),
    (opcode_classes.is_operand_load, "LDG.E R4, desc[UR4][R2.64]"),
    (opcode_classes.is_local_access, "STL.128 [R1+0x10], R12"),
    (opcode_classes.is_local_access, "LDL.LU R0, [R1]"),
    (opcode_classes.is_texture_access, "TEX.LL RZ, R7, R6, R4, UR4, 0x0.2D, 0x1"),
    (opcode_classes.is_texture_access, "SULD.D.BA.2D.STRONG.SM.TRAP R4, [R2], UR4"),
    (opcode_classes.is_barrier, "BAR.SYNC.DEFER_BLOCKING 0x0"),
    (opcode_classes.is_special_function, "MUFU.RCP R8, R8"),
    (opcode_classes.is_double_or_matrix, "DFMA R24, R24, UR6, R8"),
    (opcode_classes.is_double_or_matrix, "HGMMA.64x128x16.F32 R24, gdesc[UR4], R24"),
    (opcode_classes.is_double_or_matrix, "DMMA.884 R4, R2, R3, R4"),
    (opcode_classes.is_warp_specialised, "UTMALDG.2D [UR8], [UR4]"),
    (opcode_classes.is_warp_specialised, "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2"),
    (opcode_classes.is_warp_specialised, "USETMAXREG.DEALLOC.CTAPOOL 0x18"),
    (opcode_classes.is_warp_specialised, "QGMMA.64x64x32.F32.E4M3.E4M3 R24, gdesc[UR4], R24"),
    (opcode_classes.is_warp_specialised, "UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UPT"),
]
STRANGERS: list[tuple[Class, str]] = [
    (opcode_classes.is_global_load, "LDGSTS.E.BYPASS.128 [R5], desc[UR4][R2.64]"),
    (opcode_classes.is_global_load, "LDGDEPBAR"),
    (opcode_classes.is_global_load, "LDS R4, [R2]"),
    (opcode_classes.is_global_load, "UTMALDG.2D [UR8], [UR4]"),
    (opcode_classes.is_global_store, "STS [R2], R4"),
    (opcode_classes.is_global_atomic, "ATOMS.ADD R4, [R2], R5"),
    (opcode_classes.is_global_atomic, "REDUX.SUM UR4, R25"),
    (opcode_classes.is_global_atomic, "UTMAREDG.2D.ADD [UR8], [UR4]"),
    (opcode_classes.is_shared_access, "ATOMS.POPC.INC.32 RZ, [R17+URZ]"),
    (opcode_classes.is_shared_access, "@!PT LDS RZ, [RZ]"),
    (opcode_classes.is_operand_load, "@!PT LDS RZ, [RZ]"),
    (opcode_classes.is_operand_load, "LDSM.16.M88.4 R4, [R2]"),
    (opcode_classes.is_local_access, "LDG.E R4, desc[UR4][R2.64]"),
    (opcode_classes.is_barrier, "BSYNC B0"),
    (opcode_classes.is_barrier, "MEMBAR.SC.GPU"),
    (opcode_classes.is_special_function, "I2FP.F32.S32 R7, R7"),
    (opcode_classes.is_special_function, "F2FP.F16.F32.PACK_AB R7, R7, R8"),
    (opcode_classes.is_double_or_matrix, "HFMA2.MMA R4, -RZ, RZ, 0, 0"),
    (opcode_classes.is_warp_specialised, "HMMA.16816.F32 R12, R8, R12, RZ"),
    (opcode_classes.is_warp_specialised, "BAR.SYNC.DEFER_BLOCKING 0x0"),
]


@pytest.mark.parametrize(("asked", "text"), MEMBERS, ids=[f"{each.__name__}: {text}" for each, text in MEMBERS])
def test_an_instruction_is_of_its_class(asked: Class, text: str) -> None:
    assert asked(decode(text))


@pytest.mark.parametrize(("asked", "text"), STRANGERS, ids=[f"{each.__name__}: {text}" for each, text in STRANGERS])
def test_a_similar_instruction_is_not_of_the_class(asked: Class, text: str) -> None:
    assert not asked(decode(text))


@pytest.mark.parametrize("text", ["", "(bad)", "???", "@P0"])
def test_a_text_that_cannot_be_decoded_is_of_no_class(text: str) -> None:
    classes = {each for each, _ in MEMBERS}
    assert not any(each(decode(text)) for each in classes)
