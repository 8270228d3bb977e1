"""Text of an instruction -> ``Instruction``; each different text is decoded once."""

from __future__ import annotations

from functools import lru_cache

from ncuview.sass.control_flow import _TARGET
from ncuview.sass.instruction import Guard, Instruction
from ncuview.sass.listing import parse
from ncuview.sass.uses import use_of


@lru_cache(maxsize=1 << 16)
def decode(text: str) -> Instruction:
    """Decode an instruction."""
    parsed, use = parse(text), use_of(text)
    target = _TARGET.search(text)
    return Instruction(
        opcode=parsed.opcode,
        operands=tuple(part.strip().removesuffix(".reuse") for part in parsed.operands.split(",")),
        guard=Guard(use.guard, negated=text.startswith("@!")) if use.guard else None,
        definitions=use.results,
        uses=use.reads,
        memory=None,
        target=int(target["target"], 16) if target else None,
    )
