"""``forward_frames``: for launches of a backward pass the user's line that called the operator of their autograd node.

PyTorch's ranges give forward operator and node the same number: ``aten::mul, seq = 12`` in the forward pass, and inside
of ``autograd::engine::evaluate_function: MulBackward0, op_id = 80`` a range ``MulBackward0, seq = 12``.
Sums of gradients stand in the evaluation of a node, and outside of the node's own range.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ncuview.records.profile import Frame
from ncuview.records.program import Call

if TYPE_CHECKING:
    from ncuview.records.profile import Profile

_EVALUATED = re.compile(r"^autograd::engine::evaluate_function: (.+?)(?:, |$)")
_NUMBERED = re.compile(r"^(.+?), seq = (\d+)(?:, |$)")
_NODE = re.compile(r"Backwards?\d*$")
NEAR = 8
"""Operators that launch nothing between two that do, at most: views and permutations."""


def forward_frames(
    calls: Sequence[Call | None], ranges: Mapping[int, tuple[str, ...]], runs: Iterable[Sequence[int]]
) -> Mapping[int, Frame]:
    """Launch of a backward pass -> the user's frame of its forward operator, where ranges name both.

    Args:
        calls: The call of each launch.
        ranges: The ranges of each launch, the outermost first.
        runs: The launches of each report, in order: numbers of one report say nothing in another.
    """
    found: dict[int, Frame] = {}
    for run in runs:
        seen = _Forward()
        for launch in run:
            call, names = calls[launch], ranges.get(launch, ())
            inside = next((place for place in reversed(range(len(names))) if _EVALUATED.match(names[place])), None)
            if inside is not None:
                if frame := seen.of(*names[inside : inside + 2]):
                    found[launch] = frame
            elif call and call.line and call.file and not call.backward:
                seen.add(names, Frame(call.function, call.file, call.line))
    return found


def has_operators(profile: Profile) -> bool:
    """Whether PyTorch named its operators in ranges."""
    return any(_NUMBERED.match(name) for names in profile.nvtx_ranges.values() for name in names)


class _Forward:
    """The operators of a forward pass so far."""

    def __init__(self) -> None:
        self._named: dict[tuple[str, int], Frame] = {}
        self._numbered: dict[int, Frame] = {}
        self._evaluated: dict[str, Frame] = {}

    def add(self, names: Sequence[str], frame: Frame) -> None:
        """Note an operator with the numbers of its ranges."""
        numbered = [(match[1], int(match[2])) for name in names if (match := _NUMBERED.match(name))]
        for operator, number in numbered:
            self._named[_word(operator), number] = frame
        if numbered:
            self._numbered[numbered[-1][1]] = frame

    def of(self, evaluation: str, node: str = "") -> Frame | None:
        """The frame of the operator that is evaluated backwards, from the ranges of the evaluation and of the node.

        Without that of the node, as in sums of gradients, it is the frame that the same evaluation had before.
        """
        evaluated, numbered = _EVALUATED.match(evaluation), _NUMBERED.match(node)
        if not evaluated or not numbered or evaluated[1] != numbered[1]:
            return self._evaluated.get(evaluation)
        word, number = _word(numbered[1]), int(numbered[2])
        frame = self._named.get((word, number)) or self._around(number)
        if frame:
            self._evaluated[evaluation] = frame
        return frame

    def _around(self, number: int) -> Frame | None:
        """The frame of an operator that launched nothing, where those before and after it are of one line."""
        before = self._nearest(range(number, number - NEAR - 1, -1))
        after = self._nearest(range(number + 1, number + NEAR + 1))
        return before if before == after else None

    def _nearest(self, numbers: Iterable[int]) -> Frame | None:
        return next((self._numbered[each] for each in numbers if each in self._numbered), None)


def _word(name: str) -> str:
    """``aten::_softmax`` and ``SoftmaxBackward0`` are both ``softmax``."""
    return _NODE.sub("", name.rpartition("::")[2]).replace("_", "").lower()
