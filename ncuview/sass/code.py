"""``Code``: a kernel's instructions, decoded from text and addresses, and a cache of analysis results (``@analysis``).

It also finds an instruction by its address and counts opcodes that the opcode table does not cover.

Columns of a code have one entry per instruction: ``of_class`` and ``count_of`` mark a class, ``by_opcode`` and
``weights_at`` give weights. Instructions of one kind, with the same opcode, are asked about once; each code has few
kinds.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ncuview.sass.decode import decode
from ncuview.sass.instruction import Instruction
from ncuview.sass.isa import is_known
from ncuview.sass.opcode_classes import Class

Weights = NDArray[np.float64]
"""One number per instruction."""

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True, eq=False)
class Code:
    """The instructions of a kernel and of the functions that it calls, in the order of their addresses.

    Two objects are equal only if they are the same one, so that results of analyses belong to one object.

    Attributes:
        texts: Each instruction as ``ncu``, ``cuobjdump`` or ``nvdisasm`` prints it.
        addresses: Where each begins, in bytes from the start of the kernel.
        controls: The control codes of each, which ``waiting`` decodes; empty where they are unknown.
    """

    texts: tuple[str, ...]
    addresses: tuple[int, ...]
    controls: tuple[int, ...] = ()
    _results: dict[tuple[Callable[..., Any], tuple[Hashable, ...]], Any] = field(
        default_factory=dict, init=False, repr=False
    )

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """The decoded instructions."""
        return tuple(map(decode, self.texts))

    @cached_property
    def unknown_opcodes(self) -> Counter[str]:
        """How often each opcode stands in the code that the opcode table does not cover."""
        opcodes = Counter(each.opcode for each in self.instructions)
        return Counter({opcode: count for opcode, count in opcodes.items() if opcode and not is_known(opcode)})

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {address: position for position, address in enumerate(self.addresses)}

    def position_of(self, address: int | None) -> int | None:
        """The index of the instruction at an address; None where none begins."""
        return None if address is None else self._positions.get(address)

    def result_of(self, function: Callable[..., Result], *asked: Hashable) -> Result:
        """What a function of the code, and of what else is asked, returns; each is called once per object."""
        key = (function, asked)
        if key not in self._results:
            self._results[key] = function(self, *asked)
        result: Result = self._results[key]
        return result


def analysis(function: Function) -> Function:
    """Decorate a function of a ``Code`` so that the code remembers its result as long as it lives itself.

    The function may be asked about something besides, such as a class of instructions: by position.
    """

    @wraps(function)
    def remembered(code: Code, *asked: Hashable) -> Any:
        return code.result_of(function, *asked)

    return cast("Function", remembered)


@analysis
def _kinds(code: Code) -> Sequence[tuple[Instruction, list[int]]]:
    """The first instruction of each kind, and the positions of all of them.

    Those of one kind have the same opcode, and all or none of them access memory, and define anything.
    """
    found: dict[tuple[str, bool, bool], list[int]] = defaultdict(list)
    for position, each in enumerate(code.instructions):
        found[each.opcode, each.memory is None, not each.definitions].append(position)
    return [(code.instructions[positions[0]], positions) for positions in found.values()]


@analysis
def positions_of(code: Code, asked: Class) -> tuple[int, ...]:
    """The positions of the instructions of a class, in order. The kind of an instruction decides about its class."""
    return tuple(sorted(at for first, positions in _kinds(code) if asked(first) for at in positions))


@analysis
def of_class(code: Code, asked: Class) -> NDArray[np.bool_]:
    """Which instructions are of a class."""
    found = np.zeros(len(code), dtype=bool)
    found[list(positions_of(code, asked))] = True
    found.flags.writeable = False
    return found


def count_of(code: Code, asked: Class) -> Weights:
    """1 at each instruction of a class."""
    return of_class(code, asked).astype(np.float64)


def by_opcode(code: Code, weight: Callable[[str], float]) -> Weights:
    """A weight at each instruction, which its opcode with modifiers decides."""
    found = np.zeros(len(code))
    for first, positions in _kinds(code):
        if number := weight(first.opcode):
            found[positions] = number
    return found


def weights_at(code: Code, positions: Iterable[int], weight: float = 1.0) -> Weights:
    """A weight at these positions, 0 elsewhere."""
    found = np.zeros(len(code))
    found[list(positions)] = weight
    return found
