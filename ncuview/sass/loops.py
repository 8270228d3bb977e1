"""Weights of a ``Code`` that mark global loads: thread-invariant address, reload in a loop that stores, pointer chain.

``uniform_loads``, ``reloads`` and ``chased_loads`` return them; ``has_fixed_address`` tests an access in a loop.

``within_iterations`` gives the definitions that reach each use without going around a loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ncuview.sass.address import address_registers
from ncuview.sass.cfg import Loop, forward_order, innermost_loop
from ncuview.sass.code import Code, analysis
from ncuview.sass.columns import Weights, positions_of, weights_at
from ncuview.sass.dataflow import Chains, propagate, use_def
from ncuview.sass.instruction import Instruction
from ncuview.sass.opcode_classes import is_global_load, is_global_store
from ncuview.sass.slices import address_slice

_COPIES = ("MOV", "UMOV", "IMAD.MOV", "IMAD.U32")
_CONSTANT_LOADS = frozenset({"LDC", "ULDC", "LDCU"})
_CHAIN = 3
"""The fewest dependent loads that are a chain: an index and the element it points to are two, which do not count."""


def has_fixed_address(code: Code, loop: Loop, position: int) -> bool:
    """Whether the address of an access in a loop is the same in all iterations.

    Each of its registers is defined before the loop, or in it by fetching an argument or another constant.
    """
    registers = address_registers(code.instructions[position])
    defining = {at for name in registers for at in use_def(code)[position][name] if at in loop.body}
    return all(_fetches_constant(code.instructions[at]) for at in defining)


def _fetches_constant(each: Instruction) -> bool:
    """Whether an instruction only fetches an argument or another constant at a known place."""
    return each.base_opcode in _CONSTANT_LOADS and not each.uses


@analysis
def fixed_loads(code: Code) -> Weights:
    """1 at each global load whose address comes straight from the kernel's arguments: the same for all threads."""
    sources = use_def(code)
    return _global_loads(
        code, lambda position, address: all(_from_arguments(code, sources[position][name]) for name in address)
    )


def _from_arguments(code: Code, definitions: tuple[int, ...]) -> bool:
    """Whether all definitions are arguments, or copies of such."""
    found, waiting, linked = set[int](), list(definitions), use_def(code)
    while waiting:
        if (at := waiting.pop()) not in found:
            found.add(at)
            each, sources = code.instructions[at], linked[at]
            # Before Hopper arguments are operands of the instructions that copy them.
            copies = each.opcode.startswith(_COPIES) and (each.uses or any("c[0x0]" in text for text in each.operands))
            if not _fetches_constant(each) and not (copies and all(sources[name] for name in each.uses)):
                return False
            waiting.extend(definition for name in each.uses for definition in sources[name])
    return bool(found)


@analysis
def reloads(code: Code) -> Weights:
    """1 at each global load in a loop that stores, from an address that the loop does not change."""
    stores = positions_of(code, is_global_store)
    return _global_loads(
        code,
        lambda position, _: (
            (loop := innermost_loop(code, position)) is not None
            and not loop.body.isdisjoint(stores)
            and has_fixed_address(code, loop, position)
        ),
    )


def uniform_loads(code: Code) -> Weights:
    """1 at each global load from a thread-invariant address that is not a reload after a store."""
    return fixed_loads(code) * (1 - reloads(code))


@analysis
def chased_loads(code: Code) -> Weights:
    """1 at each global load of a chain: its address depends on loads before it, or on itself an iteration before."""
    loads = frozenset(positions_of(code, is_global_load))

    def loads_before(position: int, operands: Mapping[str, int]) -> int:
        depth = max(operands.values(), default=0)
        return min(_CHAIN, depth + (position in loads))

    depth = propagate(code, loads_before, join=max, least=0, linked=within_iterations).results
    return _global_loads(
        code, lambda position, address: depth[position] == _CHAIN or _leads_to_itself(code, position, address)
    )


@analysis
def within_iterations(code: Code) -> Chains:
    """The definitions that reach each use without going around a loop."""
    order = forward_order(code)
    return tuple(
        {name: tuple(at for at in definitions if order[at] < order[position]) for name, definitions in uses.items()}
        for position, uses in enumerate(address_slice(code))
    )


def _leads_to_itself(code: Code, load: int, address: frozenset[str]) -> bool:
    """Whether a load's address comes from what it loaded in an earlier iteration of its loop."""
    loop, sources = innermost_loop(code, load), address_slice(code)
    body = loop.body if loop else frozenset[int]()
    found = set[int]()
    waiting = [at for name in address for at in sources[load][name]]
    while waiting and load not in found:
        if (at := waiting.pop()) in body and at not in found:
            found.add(at)
            waiting.extend(definition for definitions in sources[at].values() for definition in definitions)
    return load in found


def _global_loads(code: Code, which: Callable[[int, frozenset[str]], bool]) -> Weights:
    """1 at each global load that ``which`` selects, by its position and the registers of its address."""
    addresses = ((at, address_registers(code.instructions[at])) for at in positions_of(code, is_global_load))
    return weights_at(code, [position for position, address in addresses if address and which(position, address)])
