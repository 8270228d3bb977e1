"""``Code``: a kernel's instructions, decoded from text and addresses, and a cache of analysis results (``@analysis``).

It also finds an instruction by its address and counts opcodes that the opcode table does not cover.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar

from ncuview.sass.decode import decode
from ncuview.sass.instruction import Instruction
from ncuview.sass.isa import is_known

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class Code:
    """The instructions of a kernel and of the functions that it calls, in the order of their addresses.

    Two objects are equal only if they are the same one, so that results of analyses belong to one object.

    Attributes:
        texts: Each instruction as ``ncu``, ``cuobjdump`` or ``nvdisasm`` prints it.
        addresses: Where each begins, in bytes from the start of the kernel.
    """

    texts: tuple[str, ...]
    addresses: tuple[int, ...]
    _results: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False)

    def __len__(self) -> int:
        return len(self.texts)

    @cached_property
    def instructions(self) -> tuple[Instruction, ...]:
        """The decoded instructions."""
        return tuple(map(decode, self.texts))

    @cached_property
    def unknown_opcodes(self) -> Counter[str]:
        """How often each opcode stands in the code that the opcode table does not cover."""
        return Counter(each.opcode for each in self.instructions if each.opcode and not is_known(each.opcode))

    @cached_property
    def _positions(self) -> dict[int, int]:
        return {address: position for position, address in enumerate(self.addresses)}

    def position_of(self, address: int | None) -> int | None:
        """The index of the instruction at an address; None where none begins."""
        return None if address is None else self._positions.get(address)

    def result_of(self, function: Callable[[Code], Result]) -> Result:
        """What a function of the code returns; each function is called once per object."""
        if function not in self._results:
            self._results[function] = function(self)
        result: Result = self._results[function]
        return result


def analysis(function: Callable[[Code], Result]) -> Callable[[Code], Result]:
    """Decorate a function of a ``Code`` so that the code remembers its result as long as it lives itself."""

    @wraps(function)
    def remembered(code: Code) -> Result:
        return code.result_of(function)

    return remembered
