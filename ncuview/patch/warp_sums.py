"""The C++ code that combines the values of a warp's lanes by shuffles, and those of a block by one word for each warp.

``operation`` describes how two values are combined; ``over_lanes`` and ``over_block`` write the code.
"""

from __future__ import annotations

from dataclasses import dataclass

from ncuview.patch.atomics import ElementType
from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel
from ncuview.patch.rewriting import fresh, unit

WARP = 32
_SIGNS = {"+": "0", "|": "0", "^": "0", "&": ""}
_LARGEST = {("signed", 4): "2147483647", ("unsigned", 4): "0xffffffffu", ("unsigned", 8): "0xffffffffffffffffull"}
_SMALLEST = {("signed", 4): "(-2147483647 - 1)", ("unsigned", 4): "0", ("unsigned", 8): "0"}


@dataclass(frozen=True)
class Operation:
    """How two values are combined: by a sign such as ``+``, or a function such as ``fmaxf``.

    Attributes:
        function: The sign or the function's name.
        nothing: The value that it does not change, as C++; None where there is none.
    """

    function: str
    nothing: str | None

    def combine(self, total: str, value: str) -> str:
        """The statement that combines a value into a variable."""
        if self.function in _SIGNS:
            return f"{total} {self.function}= {value};"
        return f"{total} = {self.function}({total}, {value});"


def operation(function: str, element: ElementType) -> Operation:
    """The operation of a sign, of ``max`` or ``min``, for a type.

    Raises:
        Refused: The type has no such operation.
    """
    if function in _SIGNS:
        if function != "+" and element.kind == "floating":
            raise Refused(f"{function} of {element.text} is not understood")
        return Operation(function, _SIGNS[function] or _LARGEST.get((element.kind, element.size)))
    ends = _SMALLEST if "max" in function else _LARGEST
    return Operation(function, ends.get((element.kind, element.size)))


def over_lanes(kernel: Kernel, how: Operation, total: str) -> str:
    """Code after which lane 0 of each warp has the combination of its lanes in ``total``."""
    lanes = fresh(kernel.program, "lanes", "distance")
    over = how.combine(total, f"__shfl_down_sync(0xffffffff, {total}, {lanes})")
    return f"for (int {lanes} = {WARP // 2}; {lanes} > 0; {lanes} /= 2)\n{unit(kernel)}{over}\n"


def over_block(
    kernel: Kernel, how: Operation, element: ElementType, total: str, rank: str, threads: int, last: str
) -> str:
    """Code that combines a value of all threads of a block, and uses it in the first thread.

    Args:
        kernel: The kernel.
        how: The operation.
        element: The values' type.
        total: The variable with each thread's value.
        rank: The thread's number in the block, as an expression.
        threads: The threads of a block, a multiple of 32.
        last: The statements of the first thread, with the block's value in ``total``.
    """
    step, words = unit(kernel), fresh(kernel.program, "of_warps", "word_of_warp")
    flat = f"({rank})" if " " in rank else rank
    shuffles = over_lanes(kernel, how, total)
    first = conditional(kernel, f"{flat} == 0", last)
    if threads == WARP:
        return shuffles + first
    warps = threads // WARP
    return (
        f"{shuffles}__shared__ {element.text} {words}[{warps}];\n"
        f"if ({flat} % {WARP} == 0)\n{step}{words}[{flat} / {WARP}] = {total};\n"
        f"__syncthreads();\nif ({flat} < {WARP}) {{\n"
        + _moved(_read(how, words, total, flat, warps) + shuffles + first, step)
        + "}\n"
    )


def conditional(kernel: Kernel, condition: str, statements: str) -> str:
    """Statements under a condition, in braces where there are several lines."""
    inside = _moved(statements, unit(kernel))
    return f"if ({condition})\n{inside}" if inside.count("\n") == 1 else f"if ({condition}) {{\n{inside}}}\n"


def _read(how: Operation, words: str, total: str, flat: str, warps: int) -> str:
    """Lanes without a warp's word get a value that changes nothing: where there is none, the first word again."""
    if how.nothing is not None:
        return f"{total} = {flat} < {warps} ? {words}[{flat}] : {how.nothing};\n"
    return f"{total} = {words}[{flat} < {warps} ? {flat} : 0];\n"


def _moved(code: str, step: str) -> str:
    return "".join(f"{step}{line}\n" for line in code.splitlines())
