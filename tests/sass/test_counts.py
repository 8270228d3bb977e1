"""Properties of every analysis that gives one number per instruction, on randomly combined snippets."""

from __future__ import annotations

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ncuview.sass import address, global_loads, index_dependence, instruction_mix, loaded_values, provenance
from ncuview.sass.code import Code
from ncuview.sass.decode import decode
from ncuview.sass.idioms import division, math_functions, memory_patterns
from ncuview.sass.opcode_classes import is_local_access
from tests.sass.program import Of, code
from tests.sass.test_division import QUOTIENT, RECIPROCAL, SIGNED
from tests.sass.test_instruction_mix import COPY_LOOP, COUNTED
from tests.sass.test_math_functions import PRECISE

MODULES = (
    *(address, global_loads, index_dependence, instruction_mix, loaded_values, provenance),
    *(division, math_functions, memory_patterns),
)
HELPERS = {"by_opcode", "count_of", "loads_invariant_along", "saved_by_wider", "weights_at"}
"""What takes more than the code."""
COUNTS: tuple[Of, ...] = tuple(
    of
    for module in MODULES
    for name, of in vars(module).items()
    if getattr(of, "__annotations__", {}).get("return") == "Weights" and name[0] != "_" and name not in HELPERS
)


def test_all_counts_are_looked_at() -> None:
    assert {instruction_mix.loop_iterations, division.repeated_divisions, memory_patterns.shared_updates} <= set(COUNTS)


snippets = st.sampled_from(
    [
        *((text,) for _, text, _ in COUNTED),
        COPY_LOOP[:-1],
        (*RECIPROCAL, *QUOTIENT),
        SIGNED,
        ("MUFU.RCP64H R13, R27",),
        *((text,) for text, *_ in PRECISE.values()),
        ("LDS R3, [R5]", "FADD R4, R3, R2", "STS [R5], R4"),
        ("LDG.E R4, desc[UR6][R2.64]", "STG.E desc[UR6][R2.64], R4"),
        ("STL [R1+0x4], R4", "LDL R5, [R6]"),
        ("ATOM.E.CAS.STRONG.GPU PT, R0, [R8], R5, R3",),
        ("FMUL R5, R4, 2", "FSETP.GT.AND P0, PT, |R5|, 152, PT"),
        *((f"@P0 BRA 0x{target}0",) for target in range(8)),
        *((f"CALL.REL.NOINC 0x{target}0",) for target in range(4)),
        ("RET.REL.NODEC R20, 0x0",),
    ]
)
kernels = st.lists(snippets, max_size=12).map(lambda parts: [line for part in parts for line in part])


@given(st.text(max_size=60))
def test_any_text_can_be_looked_at(text: str) -> None:
    for of in COUNTS:
        assert of(code(text)).shape == (1,)


@given(kernels)
def test_every_count_has_one_number_for_each_instruction(lines: list[str]) -> None:
    for of in COUNTS:
        found = of(code(*lines))
        assert found.shape == (len(lines),)
        assert np.isfinite(found).all()
        assert (found >= 0).all()


@given(kernels)
def test_local_memory_is_spills_and_arrays_and_nothing_else(lines: list[str]) -> None:
    local = [float(is_local_access(decode(line))) for line in lines]
    assert (
        memory_patterns.spill_accesses(code(*lines)) + memory_patterns.local_array_accesses(code(*lines))
    ).tolist() == local


@given(kernels, st.integers(1, 100))
def test_which_registers_a_kernel_uses_does_not_matter(lines: list[str], shift: int) -> None:
    renamed = [
        re.sub(r"\bR(\d+)\b", lambda r: f"R{int(r[1]) + 2 * shift if r[1] != '1' else 1}", line) for line in lines
    ]
    for of in COUNTS:
        assert of(code(*renamed)).tolist() == of(code(*lines)).tolist(), of


@given(kernels, st.integers(1, 1000))
def test_where_a_kernel_lies_does_not_matter(lines: list[str], blocks: int) -> None:
    moved = [
        re.sub(r"(BRA|NOINC) 0x(\w+)", lambda to: f"{to[1]} 0x{int(to[2], 16) + 16 * blocks:x}", line) for line in lines
    ]
    there = Code(tuple(moved), tuple(range(16 * blocks, 16 * (blocks + len(moved)), 16)))
    for of in COUNTS:
        assert of(there).tolist() == of(code(*lines)).tolist(), of
