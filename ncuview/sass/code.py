"""``Code``: a kernel's instructions, decoded from text and addresses, and a cache of analysis results (``@analysis``).

It also finds an instruction by its address and counts opcodes that the opcode table does not cover.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any, TypeVar, cast

from ncuview.sass.decode import decode
from ncuview.sass.instruction import Instruction
from ncuview.sass.isa import is_known

Result = TypeVar("Result")
Function = TypeVar("Function", bound=Callable[..., Any])


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
