"""The decoder: constructed texts for each operand form, forms that nvdisasm confirmed, and texts of any kind."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.sass import isa
from ncuview.sass.decode import decode
from ncuview.sass.instruction import Guard, Memory

FACTS = Path(__file__).with_name("nvdisasm_operands.tsv")


def registers(text: str) -> frozenset[str]:
    """``R4-R7 P0`` -> R4, R5, R6, R7, P0."""
    names = set()
    for part in text.split():
        first, _, last = part.partition("-")
        if last:
            file = first.rstrip("0123456789")
            names |= {f"{file}{number}" for number in range(int(first[len(file) :]), int(last[len(file) :]) + 1)}
        else:
            names.add(first)
    return frozenset(names)


CASES = """
# matrix products: widths by shape and type
HMMA.16816.F32 R4, R8, R12, R4 ; R4-R7 ; R4-R13
HMMA.16816.F32.BF16 R4, R8.reuse, R12, RZ ; R4-R7 ; R8-R13
HMMA.16816.F16 R4, R8, R12, R4 ; R4-R5 ; R4-R5 R8-R13
HMMA.1688.F32 R4, R8, R12, R4 ; R4-R7 ; R4-R9 R12
HMMA.1688.F32.TF32 R4, R8, R12, R4 ; R4-R7 ; R4-R7 R8-R13
HMMA.1684.F32.TF32 R4, R8, R12, R4 ; R4-R7 ; R4-R9 R12
HMMA.SP.16832.F32 R16, R4, R8, R16, R0, 0x0 ; R16-R19 ; R4-R11 R16-R19 R0
IMMA.16832.S8.S8 R4, R8.ROW, R12.COL, R4 ; R4-R7 ; R4-R13
IMMA.16816.U8.S8.SAT R4, R8.ROW, R12.COL, R4 ; R4-R7 ; R4-R9 R12
IMMA.16864.S4.S4 R4, R8.ROW, R12.COL, R4 ; R4-R7 ; R4-R13
BMMA.168256.AND.POPC R4, R8.ROW, R12.COL, R4 ; R4-R7 ; R4-R13
DMMA.884 R4, R10, R12, R4 ; R4-R7 ; R4-R7 R10-R13
DMMA.8x8x4 R4, R10, R12, R4 ; R4-R7 ; R4-R7 R10-R13
DMMA.16x8x8 R32, R8, R4, R16 ; R32-R39 ; R4-R23
QMMA.16832.F32.E4M3.E4M3 R4, R8, R12, R4 ; R4-R7 ; R4-R13
HGMMA.64x64x16.F32.BF16 R24, gdesc[UR8], R24 ; R24-R55 ; UR8-UR11 R24-R55
HGMMA.64x64x16.F32.BF16 R24, gdesc[UR8], RZ, !UPT ; R24-R55 ; UR8-UR11
HGMMA.64x64x16.F32 R24, gdesc[UR8].tnspB, R24, UP0, gsb0 ; R24-R55 ; UR8-UR11 R24-R55 UP0
HGMMA.64x64x16.F32.BF16 R24, R56, gdesc[UR8], R24 ; R24-R55 ; R56-R59 UR8-UR11 R24-R55
HGMMA.64x256x16.F32 R24, gdesc[UR4], R24, gsb0 ; R24-R151 ; UR4-UR7 R24-R151
HGMMA.64x16x16.F16 R24, gdesc[UR8], R24 ; R24-R27 ; UR8-UR11 R24-R27
QGMMA.64x64x32.F32.E4M3.E5M2 R24, gdesc[UR8], R24, gsb0 ; R24-R55 ; UR8-UR11 R24-R55
IGMMA.64x8x32.S8.S8 R24, gdesc[UR8], R24, gsb0 ; R24-R27 ; UR8-UR11 R24-R27
UTCHMMA gdesc[UR14], gdesc[UR16], tmem[UR6], tmem[UR4], idesc[UR5], UP0 ; ; UR14-UR17 UR6 UR4 UR5 UP0
UTCHMMA tmem[UR8], gdesc[UR16], tmem[UR6], tmem[UR4], idesc[UR5], UP0 ; ; UR8 UR16-UR17 UR6 UR4 UR5 UP0
LDTM.x8 R4, tmem[UR4] ; R4-R11 ; UR4
LDTM.16dp128bit.x2 R4, tmem[UR4] ; R4-R7 ; UR4
STTM.x4 tmem[UR4], R8 ; ; UR4 R8-R11
# matrices between shared memory and registers
LDSM.16.M88 R4, [R2] ; R4 ; R2
LDSM.16.MT88.2 R4, [R2+UR4+0x10] ; R4-R5 ; R2 UR4
LDSM.16.M88.4 R4, [R2] ; R4-R7 ; R2
STSM.16.M88.4 [R2], R4 ; ; R2 R4-R7
MOVM.16.MT88 R5, R6 ; R5 ; R6
# double precision
DADD R4, R6, -R8 ; R4-R5 ; R6-R9
DMUL R4, R6, UR4 ; R4-R5 ; R6-R7 UR4-UR5
DFMA R4, R6, R8, |R10| ; R4-R5 ; R6-R11
DFMA R4, R6, c[0x0][0x160], -R4 ; R4-R5 ; R4-R7
DSETP.GEU.AND P0, PT, |R2|, R4, !P1 ; P0 ; R2-R5 P1
DSETP.MAX.AND P0, P1, RZ, R10, PT ; P0 P1 ; R10-R11
MUFU.RCP64H R15, R17 ; R15 ; R17
MUFU.RSQ64H R11, UR5 ; R11 ; UR5
FSEL R5, -R12, 4.29e-19, !P0 ; R5 ; R12 P0
# conversions
F2F.F64.F32 R4, |R8| ; R4-R5 ; R8
F2F.F32.F64 R4, R8 ; R4 ; R8-R9
F2F.F16.F64 R4, R8 ; R4 ; R8-R9
F2I.S64.F64.TRUNC R4, R8 ; R4-R5 ; R8-R9
F2I.U64.TRUNC R4, R8 ; R4-R5 ; R8
F2I.F64.TRUNC R4, R8 ; R4 ; R8-R9
I2F.F64.S64 R4, R8 ; R4-R5 ; R8-R9
I2F.F64.U32 R4, R8 ; R4-R5 ; R8
I2F.U64.RP R4, UR8 ; R4 ; UR8-UR9
I2F.U8 R4, R8.B3 ; R4 ; R8
FRND.F64.TRUNC R4, R8 ; R4-R5 ; R8-R9
F2FP.BF16.F32.PACK_AB R4, R6, R8 ; R4 ; R6 R8
HADD2.F32 R3, -RZ, R8.H0_H0 ; R3 ; R8
# integers
IMAD.WIDE R2, R5, R6, R8 ; R2-R3 ; R5 R6 R8-R9
IMAD.WIDE.U32 R10, P3, R9, 0x2168c235, R10 ; R10-R11 P3 ; R9 R10-R11
IMAD.WIDE.U32.X R18, R19, R21, R24, P0 ; R18-R19 ; R19 R21 R24-R25 P0
IMAD.HI.U32 R12, P1, R11, R15, R12 ; R12 P1 ; R11 R12-R13 R15
IMAD.X R10, R16, 0x1, ~R5, P2 ; R10 ; R16 R5 P2
IMAD.MOV.U32 R4, RZ, RZ, c[0x0][0x160] ; R4 ;
IADD3 R4, P0, P1, R5, R6, R7 ; R4 P0 P1 ; R5 R6 R7
IADD3 R4, PT, PT, R5, -R6, R7 ; R4 ; R5 R6 R7
IADD3.X R4, P0, PT, R5, R6, ~R7, P1, !PT ; R4 P0 ; R5 R6 R7 P1
IADD.64 R4, R6, R8 ; R4-R5 ; R6-R9
MOV.64 R4, R6 ; R4-R5 ; R6-R7
SEL.64 R4, R6, R8, P0 ; R4-R5 ; R6-R9 P0
IMNMX.S64 PT, PT, R12, R12, R14, PT, !PT ; R12-R13 ; R12-R15
ISETP.GE.U32.AND.EX P0, PT, R3, R5, PT, P0 ; P0 ; R3 R5 P0
ISETP.NE.U64.AND P0, PT, R2, R4, PT ; P0 ; R2-R5
LEA R2, P0, R12, R4, 0x3 ; R2 P0 ; R12 R4
LEA.HI.X R3, R12, R5, R13, 0x3, P0 ; R3 ; R12 R5 R13 P0
LEA.HI.X.SX32 R3, R3, UR7, 0x1, P0 ; R3 ; R3 UR7 P0
SHF.R.U64 R13, R10, R0.reuse, R12 ; R13 ; R10 R0 R12
SHF.L.U64.HI R5, R5, 0x2, R2 ; R5 ; R5 R2
SHF.R.S64 R18, R10, R11, R9 ; R18 ; R9 R10 R11
LOP3.LUT P1, R7, R3, 0x3, RZ, 0xc0, !PT ; R7 P1 ; R3
LOP3.LUT P0, RZ, R9, 0x7f, R0, 0xc8, !PT ; P0 ; R9 R0
LOP3.LUT R5, R4, R6, R7, 0x96, !PT ; R5 ; R4 R6 R7
VIADDMNMX.RELU R8, R0, -R11, 0x1fa00, PT ; R8 ; R0 R11
VIMNMX3 R3, R0, R5, R2, !PT ; R3 ; R0 R5 R2
VIMNMX R0, PT, PT, R3, R5, PT ; R0 ; R3 R5
FADD2 R4, R6.F32x2.HI_LO, R8.F32x2.HI_LO ; R4-R5 ; R6-R9
FFMA2 R4, R6.F32x2.HI_LO, R8.F32x2.HI_LO, R10.F32x2.HI_LO ; R4-R5 ; R6-R11
FLO.U32.SH R9, R9 ; R9 ; R9
# predicates
R2P PR, R2, 0x7f ; P0-P6 ; R2
R2P PR, R2.B1, 0x3 ; P0 P1 ; R2
P2R R4, PR, R5, 0x7f ; R4 ; P0-P6 R5
P2R R4, PR, RZ, 0x2 ; R4 ; P1
PLOP3.LUT P0, PT, P1, P2, !P3, 0x80, 0x0 ; P0 ; P1 P2 P3
UPLOP3.LUT UP0, UPT, UP1, UPT, UPT, 0x80, 0x8 ; UP0 ; UP1
SEL R4, R5, UR6, !P1 ; R4 ; R5 UR6 P1
USEL UR7, UR6, UR5, UP0 ; UR7 ; UR6 UR5 UP0
VOTE.ANY R2, PT, !P1 ; R2 ; P1
VOTE.ALL P0, P1 ; P0 ; P1
VOTEU.ANY UR8, UPT, P2 ; UR8 ; P2
VOTEU.ALL UP0, P1 ; UP0 ; P1
ELECT P0, UR4, PT ; P0 UR4 ;
FCHK P0, R12, R3 ; P0 ; R12 R3
B2R.RESULT RZ, P0 ; P0 ;
BAR.RED.POPC.DEFER_BLOCKING 0x0, P0 ; ; P0
# between lanes
SHFL.BFLY P0, R49, R48, R47, R46 ; R49 P0 ; R46 R47 R48
SHFL.IDX PT, R9, R3, R0, 0x1f ; R9 ; R3 R0
MATCH.ANY.U64 R7, R6 ; R7 ; R6-R7
MATCH.ALL P1, R10, R11 ; P1 R10 ; R11
REDUX.SUM UR4, R25 ; UR4 ; R25
CREDUX.MAX UR6, R2 ; UR6 ; R2
R2UR UR4, R18 ; UR4 ; R18
R2UR P0, UR4, R18 ; P0 UR4 ; R18
S2UR UR4, SR_CTAID.X ; UR4 ;
S2R R7, SR_TID.X ; R7 ;
CS2R R4, SRZ ; R4-R5 ;
CS2R.32 R4, SR_CLOCKLO ; R4 ;
# uniform registers
UIADD3 UR4, UP0, UPT, UR5, UR6, URZ ; UR4 UP0 ; UR5 UR6
UIADD3.64 UR4, UPT, UPT, UR6, UR8, URZ ; UR4-UR5 ; UR6-UR9
ULEA UR15, UP0, UR16, UR18, 0x2 ; UR15 UP0 ; UR16 UR18
ULEA.HI.X UR16, UR16, UR19, UR4, 0x2, UP0 ; UR16 ; UR16 UR19 UR4 UP0
UIMAD.WIDE.U32 UR6, UR5, -0x2e, UR8 ; UR6-UR7 ; UR5 UR8-UR9
ULDC.64 UR4, c[0x0][0x208] ; UR4-UR5 ;
ULDC.128 UR4, c[0x0][0x210] ; UR4-UR7 ;
LDCU.64 UR4, c[0x0][UR8+0x10] ; UR4-UR5 ; UR8
UMOV UR4, 0x400 ; UR4 ;
# constants
LDC R4, c[0x0][0x28] ; R4 ;
LDC.64 R8, c[0x2][R6+0x18] ; R8-R9 ; R6
FFMA R4, R5, c[0x0][UR4], R6 ; R4 ; R5 UR4 R6
FFMA R4, R5, cx[UR4][0x20], R6 ; R4 ; R5 UR4-UR5 R6
LEPC R20 ; R20-R21 ;
# memory
LDG.E R4, desc[UR4][R2.64+UR6+0x10] ; R4 ; UR4-UR5 R2-R3 UR6
LDG.E.128.CONSTANT R4, desc[UR4][R2.64] ; R4-R7 ; UR4-UR5 R2-R3
LDG.E.64.SYS R4, [R6] ; R4-R5 ; R6-R7
LDG.E.64.SYS R4, [R6.U32+UR8] ; R4-R5 ; R6 UR8-UR9
LDG.E.ENL2.256 R8, R4, desc[UR4][R2.64] ; R4-R11 ; UR4-UR5 R2-R3
STG.E.128 desc[UR4][R2.64], R4 ; ; UR4-UR5 R2-R7
STG.E.ENL2.256 desc[UR4][R2.64], R8, R12 ; ; UR4-UR5 R2-R3 R8-R15
STG.E.U8 desc[UR4][R2.64], RZ ; ; UR4-UR5 R2-R3
STS.64 [R2.X8+0x100], R6 ; ; R2 R6-R7
STL.128 [R1+0x10], R12 ; ; R1 R12-R15
ST.E.64 [R12], R2 ; ; R12-R13 R2-R3
LDS.128 R12, [R3+UR5+-0x40] ; R12-R15 ; R3 UR5
LDL.LU.64 R4, [R1+0x108]          (*"SpillRefill"*) ; R4-R5 ; R1
LDGSTS.E.BYPASS.128 [R2+0x20], desc[UR6][R4.64] ; ; R2 UR6-UR7 R4-R5
LDGSTS.E.BYPASS.LTC128B.128 [R2], [R4.64], P1 ; ; R2 R4-R5 P1
STAS.128 [R4.64], R8 ; ; R4-R5 R8-R11
ATOMG.E.ADD.F64.RN.STRONG.GPU PT, R4, desc[UR4][R2.64], R8 ; R4-R5 ; UR4-UR5 R2-R3 R8-R9
ATOMG.E.CAS R4, [R2], R6, R7 ; R4 ; R2-R3 R6 R7
ATOMG.E.CAS.64.STRONG.GPU PT, R8, [R4+0x18], R12, R10 ; R8-R9 ; R4-R5 R10-R13
ATOMG.E.CAS.128.STRONG.GPU PT, RZ, [R2+0x90], R8, R12 ; ; R2-R3 R8-R15
ATOMG.E.ADD.F32x4.FTZ.RN.STRONG.GPU PT, R8, desc[UR10][R18.64], R8 ; R8-R11 ; UR10-UR11 R18-R19 R8-R11
ATOM.E.ADD.F16x2.RN.STRONG.GPU P0, RZ, desc[UR4][R4.64], R7 ; P0 ; UR4-UR5 R4-R5 R7
REDG.E.ADD.F32x2.FTZ.RN.STRONG.GPU desc[UR4][R2.64], R8 ; ; UR4-UR5 R2-R3 R8-R9
RED.E.MAX.S64.STRONG.GPU [R4.64+0x50], R18 ; ; R4-R5 R18-R19
ATOMS.CAS.64 R20, [R27.X8+0x100], R8, R10 ; R20-R21 ; R27 R8-R11
ATOMS.CAST.SPIN.64 P0, [R22], R4, R6 ; P0 ; R22 R4-R7
ATOMS.POPC.INC.32 RZ, [R17+URZ] ; ; R17
QSPC.E.S P0, RZ, [R4] ; P0 ; R4-R5
CCTL.E.PF2 [R6] ; ; R6-R7
# textures and surfaces
TEX.LL RZ, R7, R6, R4, UR4, 0x0, 2D, 0x1 ; R7 ; R6-R7 R4 UR4-UR5
TEX R6, R4, R8, UR4, 0x0, 2D ; R4-R7 ; R8-R9 UR4-UR5
TEX.LL R22, R32, R32, R19, UR4, 0x0, 2D, 0xb ; R22 R32-R33 ; R32-R33 R19 UR4-UR5
TEX.SCR.LL R6, R4, R34, R2, 0x0, 0x58, 3D ; R4-R7 ; R34-R35 R2-R3
TLD.LZ RZ, R4, R2, UR4, 0x0, 1D, 0x1 ; R4 ; R2 UR4-UR5
TLD4.R R22, R20, R10, UR4, 0x0, 2D ; R20-R23 ; R10-R11 UR4-UR5
TXD R26, R24, R2, R24, UR4, 0x0, 2D ; R24-R27 ; R2-R3 R24-R27 UR4-UR5
SULD.D.BA.2D.128.STRONG.SM.TRAP R4, [R16], UR4, 0x0 ; R4-R7 ; R16-R17 UR4
SUST.D.BA.3D.64.STRONG.SM.TRAP [R16], R32, UR4, 0x0 ; ; R16-R18 R32-R33 UR4
# copies in bulk, barriers in shared memory
UTMALDG.2D [UR8], [UR16] ; ; UR8-UR11 UR16-UR17
UTMALDG.5D.MULTICAST [UR8], [UR16], UR5 ; ; UR8-UR14 UR16-UR17 UR5
UTMASTG.2D [UR20], [UR16] ; ; UR20-UR22 UR16-UR17
UBLKCP.S.G [UR8], [UR4], UR6 ; ; UR8-UR9 UR4-UR5 UR6
UBLKCP.G.S [UR4], [UR8], UR12 ; ; UR4-UR5 UR8 UR12
SYNCS.EXCH.64 URZ, [UR4+0x8], UR6 ; ; UR4 UR6-UR7
SYNCS.ARRIVE.TRANS64.A1T0 R2, [UR9], RZ ; R2-R3 ; UR9
SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R2+URZ+0x8], R5 ; P0 ; R2 R5
# control
CALL.REL.NOINC R8 `(f) ; ; R8-R9
CALL.ABS.NOINC R6 ; ; R6-R7
RET.REL.NODEC R20 `(kernel) ; ; R20-R21
BRX R4 -0x260 (*"BRANCH_TARGETS .L_x_52,.L_x_53"*) ; ; R4-R5
BSSY B0, `(.L_x_3) ; ;
BSYNC.RECONVERGENT B0 ; ;
BREAK B1 ; ;
BMOV.32.CLEAR R4, B0 ; R4 ;
BMOV.32 B6, R4 ; ; R4
WARPSYNC R4 ; ; R4
NANOSLEEP R0 ; ; R0
BAR.SYNC.DEFER_BLOCKING R5, R6 ; ; R5 R6
DEPBAR.LE SB0, 0x0, {3,2,1} ; ;
BRA.U !UP0, `(.L_x_32) ; ; UP0
BRA.DIV UR9, 0x8f0 ; ; UR9
EXIT ; ;
YIELD ; ;
MEMBAR.SC.SYS ; ;
ERRBAR ; ;
FENCE.VIEW.ASYNC.S ; ;
ACQBULK ; ;
PREEXIT ; ;
LDGDEPBAR ; ;
USETMAXREG.DEALLOC.CTAPOOL 0x18 ; ;
"""


def cases() -> list[tuple[str, frozenset[str], frozenset[str]]]:
    rows = (line.split(" ;") for line in CASES.splitlines() if line and not line.startswith("#"))
    return [(text, registers(definitions), registers(uses)) for text, definitions, uses in rows]


@pytest.mark.parametrize(("text", "definitions", "uses"), cases())
def test_definitions_and_uses(text: str, definitions: frozenset[str], uses: frozenset[str]) -> None:
    decoded = decode(text)
    assert isa.is_known(decoded.opcode)
    assert decoded.definitions == definitions
    assert decoded.uses == uses


@pytest.mark.parametrize(
    ("text", "memory"),
    [
        ("LDG.E.128 R4, desc[UR4][R2.64+0x10]", Memory("global", "load", 16, ("R2", "R3"), ("UR4", "UR5"), 16)),
        ("LDG.E.U8 R4, desc[UR4][R2.64+UR6]", Memory("global", "load", 1, ("R2", "R3"), ("UR4", "UR5", "UR6"), 0)),
        ("STG.E.U16 [R2.64+-0x8], R6", Memory("global", "store", 2, ("R2", "R3"), (), -8)),
        ("LDS.64 R4, [R2.X8+UR5+0x100]", Memory("shared", "load", 8, ("R2",), ("UR5",), 256)),
        ("LDS R4, [0x118]", Memory("shared", "load", 4, (), (), 280)),
        ("STL [R1+0x10], R4", Memory("local", "store", 4, ("R1",), (), 16)),
        ("LD.E R4, [R2]", Memory("generic", "load", 4, ("R2", "R3"), (), 0)),
        ("LDSM.16.M88.4 R4, [R2]", Memory("shared", "load", 16, ("R2",), (), 0)),
        ("STSM.16.M88 [R2], R4", Memory("shared", "store", 4, ("R2",), (), 0)),
        (
            "LDGSTS.E.BYPASS.128 [R7+0x20], desc[UR6][R4.64+0x8]",
            Memory("global", "copy", 16, ("R4", "R5"), ("UR6", "UR7"), 8),
        ),
        ("LDC.64 R8, c[0x3][R6+0x18]", Memory("constant", "load", 8, ("R6",), (), 24)),
        ("LDC.U8 R8, c[0x3][R6]", Memory("constant", "load", 1, ("R6",), (), 0)),
        ("LDCU.64 UR4, c[0x0][0x358]", Memory("constant", "load", 8, (), (), 856)),
        ("ATOMG.E.ADD.F16x2.RN.STRONG.GPU PT, R4, [R2.64], R5", Memory("global", "atomic", 4, ("R2", "R3"), (), 0)),
        ("ATOMS.CAS.64 R4, [R2], R6, R8", Memory("shared", "atomic", 8, ("R2",), (), 0)),
        ("REDG.E.ADD.F32x4.RN [R2.64], R8", Memory("global", "reduction", 16, ("R2", "R3"), (), 0)),
        ("LDG.E.ENL2.256 R8, R4, desc[UR4][R2.64]", Memory("global", "load", 32, ("R2", "R3"), ("UR4", "UR5"), 0)),
        ("SULD.D.BA.2D R4, [R16], UR4, 0x0", Memory("surface", "load", 0, ("R16", "R17"), (), 0)),
        ("STAS [R4.64], R8", Memory("distributed", "store", 4, ("R4", "R5"), (), 0)),
        ("LDTM.x8 R4, tmem[UR4+0x8]", Memory("tensor", "load", 0, (), ("UR4",), 8)),
        ("CCTL.E.PF2 [R6]", Memory("global", "prefetch", 0, ("R6", "R7"), (), 0)),
        ("CCTL.IVALL", None),
        ("FFMA R4, R5, c[0x0][0x160], R6", None),
        ("QSPC.E.S P0, RZ, [R4]", None),
    ],
)
def test_memory(text: str, memory: Memory | None) -> None:
    assert decode(text).memory == memory


def test_copies_in_bulk_name_all_uniform_registers() -> None:
    memory = decode("UTMALDG.1D [UR8], [UR16], desc[UR6]").memory
    assert memory == Memory("global", "copy", 0, (), ("UR8", "UR9", "UR10", "UR16", "UR17", "UR6", "UR7"), 0)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("BRA `(.L_x_0) 0xe80", 0xE80),
        ("BRA 0x8f0", 0x8F0),
        ("@!P0 BRA P1, 0x10", 0x10),
        ("BRA.DIV UR9, 0x8f0", 0x8F0),
        ("CALL.REL.NOINC 0x1230", 0x1230),
        ("JMP 0x40", 0x40),
        ("BRA `(.L_x_3)", None),
        ("BSSY B0, 0x8f0", None),
        ("BRX R4 -0x260", None),
        ("CALL.ABS.NOINC R6", None),
        ("RET.REL.NODEC R20 0x0", None),
        ("FADD R4, R5, 0x10", None),
    ],
)
def test_target(text: str, target: int | None) -> None:
    assert decode(text).target == target


@pytest.mark.parametrize(
    ("text", "guard"),
    [
        ("@P0 EXIT", Guard("P0", negated=False)),
        ("@!UP1 UMOV UR4, UR5", Guard("UP1", negated=True)),
        ("@!PT LDS RZ, [RZ]", None),
        ("EXIT", None),
    ],
)
def test_guard(text: str, guard: Guard | None) -> None:
    decoded = decode(text)
    assert decoded.guard == guard
    assert not (guard and guard.predicate in decoded.uses)


def test_operands_come_without_reuse() -> None:
    decoded = decode("FFMA R4, R5.reuse, |R6|.reuse, -R7 ;")
    assert decoded.operands == ("R4", "R5", "|R6|", "-R7")
    assert decoded.uses == {"R5", "R6", "R7"}


def test_unknown_opcode_defines_and_uses_each_register() -> None:
    decoded = decode("@P3 FROB.64 R4, P0, desc[UR4][R8.64], -R12")
    assert not isa.is_known(decoded.opcode)
    assert decoded.definitions == decoded.uses == registers("R4-R5 P0 UR4-UR5 R8-R9 R12-R13")
    assert decoded.memory is None


def facts() -> list[tuple[str, frozenset[str], frozenset[str]]]:
    rows = (line.split("\t") for line in FACTS.read_text(encoding="utf-8").splitlines())
    return [(text, registers(definitions), registers(uses)) for text, definitions, uses in rows]


def test_forms_that_nvdisasm_marks() -> None:
    wrong = []
    for text, definitions, uses in facts():
        decoded = decode(text)
        guard = {decoded.guard.predicate} if decoded.guard else set()
        if (decoded.definitions, decoded.uses | guard) != (definitions, uses) or not isa.is_known(decoded.opcode):
            wrong.append((text, sorted(decoded.definitions), sorted(decoded.uses)))
    assert not wrong


def test_facts_cover_each_unit() -> None:
    opcodes = {decode(text).base_opcode for text, _, _ in facts()}
    assert {"HMMA", "HGMMA", "LDSM", "DFMA", "IMAD", "ATOMG", "TEX", "UTMALDG", "UTCHMMA", "LDTM", "SYNCS"} <= opcodes


OPCODES = sorted(each for each in isa.opcodes())
NAMES = st.sampled_from(["R0", "R4", "R250", "RZ", "UR4", "URZ", "P0", "PT", "UP1", "UPT", "!P2", "-R3", "|R4|", "~R5"])
ODD = st.sampled_from(
    [
        "R4.64",
        "desc[UR4][R2.64+UR6+0x10]",
        "[R2.X4]",
        "c[0x0][R4]",
        "cx[UR4][0x2]",
        "gdesc[UR8]",
        "PR",
        "0x7f",
        "[",
        "]",
    ]
)
MODIFIERS = st.sampled_from(["E", "64", "128", "256", "F64", "16816", "64x256x16", "SP", "F32", "LL", "SCR", "x32"])


@given(st.text())
def test_any_text_decodes(text: str) -> None:
    assert_ordinary(text)


@given(
    st.sampled_from(OPCODES),
    st.lists(MODIFIERS | st.from_regex(r"[A-Za-z0-9_]{1,12}", fullmatch=True), max_size=4),
    st.lists(NAMES | ODD | st.text(max_size=8), max_size=6),
)
def test_any_operands_decode(opcode: str, modifiers: list[str], operands: list[str]) -> None:
    assert_ordinary(".".join([opcode, *modifiers]) + " " + ", ".join(operands))


def assert_ordinary(text: str) -> None:
    decoded = decode(text)
    names = decoded.definitions | decoded.uses
    if decoded.memory:
        names |= {*decoded.memory.base, *decoded.memory.uniform}
    assert all(each.lstrip("U")[0] in "RP" and each.lstrip("U")[1:].isdecimal() for each in names)
