"""Compute data flow in a kernel's code: use-def and def-use chains, live registers, and ``propagate`` for analyses.

``effects`` gives what each instruction uses and defines; ``last_touches`` the last uses or definitions before it.

It covers registers, predicates and words of local memory. No other module loops over instructions with the state of
registers. An analysis is a function that says what an instruction's results are, from its operands; ``propagate``
applies it along the chains from definitions to uses.

Definitions under a guard leave what was there before, unless another one has the opposite guard. A call of a known
function is an instruction that uses what the function reads before it defines it, and defines what it does; so what one
call returns does not depend on what others pass. Instructions of the function see what all its calls pass. A call of an
unknown function uses and defines everything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from operator import or_
from typing import Generic, NamedTuple, TypeVar

from ncuview.sass.cfg import ControlFlow, called, control_flow, reverse_postorder, solve
from ncuview.sass.code import Code, analysis
from ncuview.sass.instruction import Guard, Instruction

Value = TypeVar("Value")
Chains = tuple[Mapping[str, tuple[int, ...]], ...]
"""For each position and register the positions at the other end."""

LOCAL = "local"
"""Local memory at unknown offsets; ``local[16]`` is the word at 16 bytes from the stack pointer."""
_STACK_POINTER = "R1"
_WORD = 4


class Effect(NamedTuple):
    """What an instruction does to registers, predicates and words of local memory.

    Attributes:
        uses: Those that it reads, its guard included.
        defines: Those that it writes.
        guard: The guard under which it does so; None where all threads do.
        keeps: Its definitions that may keep the old value: what a called function defines on some paths only.
    """

    uses: tuple[str, ...]
    defines: tuple[str, ...]
    guard: Guard | None = None
    keeps: frozenset[str] = frozenset()


@analysis
def effects(code: Code) -> tuple[Effect, ...]:
    """The effect of each instruction; a call has the effect of its function."""
    flow, words = control_flow(code), _local_words(code)
    stored = sorted({name for names in words.values() for name in names if name != LOCAL})
    found = [_effect(each, words.get(position, ()), stored) for position, each in enumerate(code.instructions)]
    everything = tuple(sorted({name for effect in found for name in (*effect.uses, *effect.defines)}))
    known: dict[int | None, Effect] = {None: Effect(everything, everything)}

    def include(call: int) -> None:
        position, entry = flow.blocks[call][-1], flow.calls[call]
        if entry is not None and entry not in known:
            known[entry] = known[None]  # in case the function calls itself
            blocks = flow.reachable(entry)
            for inner in flow.calls.keys() & set(blocks):
                include(inner)
            known[entry] = _summary(flow, found, blocks)
        function = known[entry]
        uses = (*found[position].uses, *(name for name in function.uses if name not in found[position].uses))
        found[position] = Effect(uses, function.defines, found[position].guard, function.keeps)

    for call in flow.calls:
        include(call)
    return tuple(found)


def _summary(flow: ControlFlow, found: Sequence[Effect], blocks: Sequence[int]) -> Effect:
    """What a function does, whose entry is the first of its blocks: what it uses before it defines it, and defines."""
    names = sorted(
        {name for block in blocks for at in flow.blocks[block] for name in (*found[at].uses, *found[at].defines)}
    )
    bit = {name: 1 << number for number, name in enumerate(names)}
    exposed, kept = [0] * len(flow.blocks), [0] * len(flow.blocks)
    for block in blocks:
        history = _History()
        for at in flow.blocks[block]:
            before = (name for name in found[at].uses if not history.reaching(name, found[at].guard)[1])
            exposed[block] |= reduce(or_, (bit[name] for name in before), 0)
            history.add(at, found[at])
        kept[block] = ~sum(bit[name] for name in history.defined if history.reaching(name, None)[1])

    def arrive(block: int, unchanged: Sequence[int]) -> int:
        """The registers that may still hold what they held at the entry."""
        at_entry = (1 << len(names)) - 1 if block == blocks[0] else 0
        return reduce(or_, (unchanged[before] & kept[before] for before in flow.predecessors[block]), at_entry)

    unchanged = solve(arrive, flow.successors, 0, blocks)
    needed = reduce(or_, (unchanged[block] & exposed[block] for block in blocks))
    returned = reduce(or_, (unchanged[block] & kept[block] for block in flow.returns.intersection(blocks)), 0)
    defines = {name for block in blocks for at in flow.blocks[block] for name in found[at].defines}
    return Effect(
        tuple(name for name in names if needed & bit[name]),
        tuple(name for name in names if name in defines),
        keeps=frozenset(name for name in defines if returned & bit[name]),
    )


def _effect(each: Instruction, words: tuple[str, ...], stored: Sequence[str]) -> Effect:
    uses, defines = tuple(each.uses), tuple(each.definitions)
    if each.guard and each.guard.predicate not in each.uses:
        uses += (each.guard.predicate,)
    if not words:
        return Effect(uses, defines, each.guard)
    if each.base_opcode in {"LDL", "LD"}:
        return Effect((*uses, LOCAL, *(stored if LOCAL in words else words)), defines, each.guard)
    if LOCAL in words or (each.memory is not None and each.memory.bytes < _WORD):
        uses += words  # the rest stays as it was
    return Effect(uses, (*defines, *words), each.guard)


def _local_words(code: Code) -> dict[int, tuple[str, ...]]:
    """The words of local memory that loads and stores access; those through generic addresses may be any."""
    accesses = {
        position: each
        for position, each in enumerate(code.instructions)
        if each.base_opcode in {"LDL", "STL", "LD", "ST"}
    }
    first = min((position for position, each in accesses.items() if each.base_opcode in {"LDL", "STL"}), default=0)
    entry = control_flow(code).blocks[0] if len(code) else range(0)
    moved = [position for position, each in enumerate(code.instructions) if _STACK_POINTER in each.definitions]
    fixed = all(position in entry and position < first for position in moved)
    return {position: _words(each, fixed=fixed) for position, each in accesses.items()}


def _words(access: Instruction, *, fixed: bool) -> tuple[str, ...]:
    memory = access.memory
    if not fixed or memory is None or memory.space != "local" or memory.base != (_STACK_POINTER,) or memory.uniform:
        return (LOCAL,)
    start = memory.offset - memory.offset % _WORD
    return tuple(f"{LOCAL}[{word}]" for word in range(start, memory.offset + memory.bytes, _WORD))


class _Numbering:
    """A bit for each definition, those of one register side by side."""

    def __init__(self, found: Sequence[Effect]) -> None:
        self._positions: dict[str, list[int]] = {}
        for position, effect in enumerate(found):
            for name in effect.defines:
                self._positions.setdefault(name, []).append(position)
        sizes = (len(positions) for positions in self._positions.values())
        self._start = dict(zip(self._positions, accumulate(sizes, initial=0), strict=False))
        self.mask = {name: ((1 << len(at)) - 1) << self._start[name] for name, at in self._positions.items()}
        self.bit = {
            (name, position): 1 << (self._start[name] + number)
            for name, positions in self._positions.items()
            for number, position in enumerate(positions)
        }

    def among(self, definitions: int, name: str) -> tuple[int, ...]:
        """The positions of those definitions that are of one register, in order."""
        if name not in self._positions:
            return ()
        own, positions, found = (definitions & self.mask[name]) >> self._start[name], self._positions[name], []
        while own:
            lowest = own & -own
            found.append(positions[lowest.bit_length() - 1])
            own ^= lowest
        return tuple(found)


class _History:
    """The definitions in a block so far, and which of them reach a use under a guard."""

    def __init__(self) -> None:
        self.defined: dict[str, list[tuple[int, Effect, int]]] = {}
        """For each register its definitions, with the position that defined the guard's predicate."""

    def add(self, position: int, effect: Effect) -> None:
        """Go on after an instruction."""
        made = self._made(effect.guard) if effect.guard else -1
        for name in effect.defines:
            self.defined.setdefault(name, []).append((position, effect, made))

    def reaching(self, name: str, guard: Guard | None) -> tuple[tuple[int, ...], bool]:
        """The definitions of a register in the block that reach a use here, and whether no others do.

        nvcc writes short branches as pairs of instructions under a predicate and its opposite. A use under a guard sees
        no definition under the opposite one, and none before one under the same; no use sees what came before both.
        """
        definitions = self.defined.get(name)
        if not definitions:
            return (), False
        found: list[int] = []
        needed = guard if guard and guard.predicate != name else None
        opposite = None if needed is None else (Guard(needed.predicate, not needed.negated), self._made(needed))
        covered = set[tuple[Guard, int]]() if opposite is None else {opposite}
        for position, effect, made in reversed(definitions):
            if effect.guard is None:
                found.append(position)
                if name not in effect.keeps:
                    return tuple(reversed(found)), True
                continue
            if (effect.guard, made) == opposite:
                continue
            found.append(position)
            covered.add((effect.guard, made))
            if (Guard(effect.guard.predicate, not effect.guard.negated), made) in covered:
                return tuple(reversed(found)), True
        return tuple(reversed(found)), False

    def _made(self, guard: Guard) -> int:
        definitions = self.defined.get(guard.predicate)
        return definitions[-1][0] if definitions else -1


def _reaching(code: Code, found: Sequence[Effect], numbering: _Numbering) -> list[int]:
    """The definitions that reach each block's start, in functions those of all their calls."""
    flow = control_flow(code)
    made = [_made_by(positions, found, numbering) for positions in flow.blocks]
    callers = flow.callers()

    def arrive(block: int, arriving: Sequence[int]) -> int:
        reaching = 0
        for before in flow.predecessors[block]:
            added, kept = made[before]
            reaching |= arriving[before] & kept | added
        for call in callers[block]:
            reaching |= arriving[call] if flow.calls[call] == block else made[call][0]
        return reaching

    return solve(arrive, flow.with_calls(), 0, reverse_postorder(code))


def _made_by(block: range, found: Sequence[Effect], numbering: _Numbering) -> tuple[int, int]:
    """The definitions that a block adds, and those that it lets pass."""
    history, made, killed = _History(), 0, 0
    for position in block:
        history.add(position, found[position])
    for name in history.defined:
        positions, is_all = history.reaching(name, None)
        made |= sum(numbering.bit[name, position] for position in positions)
        killed |= numbering.mask[name] if is_all else 0
    return made, ~killed


def chains(code: Code, found: Sequence[Effect]) -> Chains:
    """For each instruction and what it uses the positions of the definitions that reach it, in order."""
    numbering, flow = _Numbering(found), control_flow(code)
    linked: list[Mapping[str, tuple[int, ...]]] = []
    for block, arriving in zip(flow.blocks, _reaching(code, found, numbering), strict=True):
        history, known = _History(), dict[str, tuple[int, ...]]()
        for position in block:
            effect, uses = found[position], dict[str, tuple[int, ...]]()
            for name in effect.uses:
                uses[name], is_all = history.reaching(name, effect.guard)
                if not is_all:
                    if name not in known:
                        known[name] = numbering.among(arriving, name)
                    uses[name] = known[name] + uses[name]
            linked.append(uses)
            history.add(position, effect)
    return tuple(linked)


@analysis
def use_def(code: Code) -> Chains:
    """For each instruction and each register that it uses, its guard too, the definitions that reach it."""
    return chains(code, effects(code))


@analysis
def def_use(code: Code) -> Chains:
    """For each instruction and each register that it defines the instructions that use this value."""
    found: list[dict[str, list[int]]] = [{name: [] for name in effect.defines} for effect in effects(code)]
    for position, uses in enumerate(use_def(code)):
        for name, definitions in uses.items():
            for definition in definitions:
                found[definition][name].append(position)
    return tuple({name: tuple(uses) for name, uses in defined.items()} for defined in found)


@analysis
def last_touches(code: Code) -> Chains:
    """For each instruction and each register that it touches, uses or defines, the last ones that touched it before."""
    touching = (sorted({*effect.uses, *effect.defines}) for effect in effects(code))
    return chains(code, [Effect(tuple(names), tuple(names)) for names in touching])


@dataclass(frozen=True, eq=False)
class Liveness:
    """The registers whose values some instruction may still use.

    Attributes:
        names: The register of each bit.
        before: For each position those that are live before the instruction, as bits.
    """

    names: tuple[str, ...]
    before: tuple[int, ...]

    def at(self, position: int) -> frozenset[str]:
        """The registers that are live before an instruction."""
        live = self.before[position]
        return frozenset(name for number, name in enumerate(self.names) if live >> number & 1)


@analysis
def liveness(code: Code) -> Liveness:
    """Find which registers, predicates and words of local memory are live before each instruction."""
    found, flow = effects(code), control_flow(code)
    names = tuple(sorted({name for effect in found for name in (*effect.uses, *effect.defines)}))
    bit = {name: 1 << number for number, name in enumerate(names)}
    uses = [sum(bit[name] for name in effect.uses) for effect in found]
    kept = [
        -1 if effect.guard else ~sum(bit[name] for name in effect.defines if name not in effect.keeps)
        for effect in found
    ]
    sites = _return_sites(code)

    def before(block: int, live: Sequence[int]) -> list[int]:
        """What is live after a block and before each of its instructions, last to first."""
        after = reduce(or_, (live[to] for to in (*flow.successors[block], *sites[block])), 0)
        backwards = reversed(flow.blocks[block])
        return list(accumulate(backwards, lambda later, at: later & kept[at] | uses[at], initial=after))

    ends: list[list[int]] = [[] for _ in flow.blocks]
    for end, blocks in enumerate(sites):
        for block in blocks:
            ends[block].append(end)
    live = solve(
        lambda block, live: before(block, live)[-1],
        [[*predecessors, *ends[block]] for block, predecessors in enumerate(flow.predecessors)],
        0,
        reverse_postorder(code)[::-1],
    )
    return Liveness(names, tuple(each for block in range(len(live)) for each in before(block, live)[:0:-1]))


def _return_sites(code: Code) -> list[list[int]]:
    """For each block that ends in RET the blocks after the calls of its function."""
    flow = control_flow(code)
    sites: list[list[int]] = [[] for _ in flow.blocks]
    for call, entry in flow.calls.items():
        if entry is not None:
            for block in flow.returns.intersection(flow.reachable(entry)):
                sites[block].extend(flow.successors[call])
    return sites


class Parts(Generic[Value]):
    """The values of an instruction's results where they differ, by register."""

    __slots__ = ("by_register",)

    def __init__(self, by_register: Mapping[str, Value]) -> None:
        self.by_register = by_register

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Parts) and self.by_register == other.by_register

    __hash__ = None  # type: ignore[assignment]


Transfer = Callable[[int, Mapping[str, Value]], Value | Parts[Value]]
"""From an instruction's position and the value of each register that it uses (its guard too) to that of its results.

A predicated instruction's result joins what the register held before; the transfer function need not do that.
"""


@dataclass(frozen=True, eq=False)
class Propagation(Generic[Value]):
    """The result of ``propagate``.

    Attributes:
        results: For each position the value of what the instruction defines.
        operands: For each position the value of each register that it uses.
    """

    results: Sequence[Value | Parts[Value]]
    operands: Sequence[Mapping[str, Value]]


def propagate(
    code: Code,
    transfer: Transfer[Value],
    *,
    join: Callable[[Value, Value], Value],
    least: Value,
    linked: Callable[[Code], Chains] = use_def,
) -> Propagation[Value]:
    """Find the value of each instruction's results from those of the definitions that reach its uses.

    Args:
        code: The kernel's code.
        transfer: The value of an instruction's results. It is called for all instructions, those without results and
            calls of unknown functions included, which use and define everything.
        join: The value where several definitions reach a use. Transfer and join are monotone over a lattice of finite
            height.
        least: The value of what nothing has defined, and of loops before their first iteration.
        linked: The definitions that reach each use: ``use_def``, unless an analysis has an analysis of its own.
    """
    sources = linked(code)
    operands: list[Mapping[str, Value]] = [{}] * len(sources)

    def equation(position: int, results: Sequence[Value | Parts[Value]]) -> Value | Parts[Value]:
        found: dict[str, Value] = {}
        for name, definitions in sources[position].items():
            value = least
            for number, at in enumerate(definitions):
                result = results[at]
                part = result.by_register.get(name, least) if isinstance(result, Parts) else result
                value = join(value, part) if number else part
            found[name] = value
        operands[position] = found  # the last ones stay: an instruction is asked again whenever they change
        return transfer(position, found)

    start: Value | Parts[Value] = least
    results = solve(equation, _dependents(code, linked), start, _in_order(code))
    return Propagation(results, operands)


@analysis
def _dependents(code: Code, linked: Callable[[Code], Chains]) -> Sequence[Sequence[int]]:
    """For each instruction those that one of its definitions reaches."""
    found: list[list[int]] = [[] for _ in code.texts]
    for position, uses in enumerate(linked(code)):
        for definition in set().union(*uses.values()):
            found[definition].append(position)
    return found


def with_functions(code: Code, brought: Sequence[int]) -> list[int]:
    """The bits that each instruction brings; for a call of a known function, those of the function's instructions."""
    functions, found = called(code), list(brought)
    for position, inner in functions.items():
        found[position] = reduce(or_, (brought[at] for at in inner if at not in functions), 0)
    return found


def reads(each: Instruction, name: str) -> bool:
    """Whether an instruction itself uses a register or a word of local memory.

    Uses by its guard, by a called function, or for the rest of a partly stored word do not count.
    """
    return name in each.uses or (each.base_opcode in {"LDL", "LD"} and name.startswith(LOCAL))


@analysis
def _in_order(code: Code) -> Sequence[int]:
    """Positions so that most definitions come before their uses."""
    flow = control_flow(code)
    return [position for block in reverse_postorder(code) for position in flow.blocks[block]]
