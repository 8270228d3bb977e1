"""``forward_frames``: for launches of a backward pass the user's line that called the operator of their autograd node.

PyTorch's ranges give forward operator and node the same number: ``aten::mul, seq = 12, op_id = 34`` in the forward
pass, and inside of ``autograd::engine::evaluate_function: MulBackward0`` a range ``MulBackward0, seq = 12``.
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
_NODE = re.compile(r"Backward\d*$")
NEAR = 8
"""Operators that launch nothing, between an operator that did and its successor, at most: views and permutations."""


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
            node = _node(names)
            if node is not None:
                if frame := seen.of(*node):
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

    def add(self, names: Sequence[str], frame: Frame) -> None:
        numbered = [(match[1], int(match[2])) for name in names if (match := _NUMBERED.match(name))]
        for operator, number in numbered:
            self._named[_word(operator), number] = frame
        if numbered:
            self._numbered[numbered[-1][1]] = frame

    def of(self, node: str, number: int) -> Frame | None:
        """The frame of the operator with this number; of the nearest before it, where the operator launched nothing."""
        if exact := self._named.get((_word(node), number)):
            return exact
        earlier = range(number, max(-1, number - NEAR - 1), -1)
        return next((self._numbered[each] for each in earlier if each in self._numbered), None)


def _node(names: Sequence[str]) -> tuple[str, int] | None:
    """The autograd node, with its number, that the innermost evaluation is about."""
    for outer, inner in zip(reversed(names[:-1]), reversed(names[1:]), strict=True):
        evaluated, numbered = _EVALUATED.match(outer), _NUMBERED.match(inner)
        if evaluated and numbered and evaluated[1] == numbered[1]:
            return numbered[1], int(numbered[2])
    return None


def _word(name: str) -> str:
    """``aten::_softmax`` and ``SoftmaxBackward0`` are both ``softmax``."""
    return _NODE.sub("", name.rpartition("::")[2]).replace("_", "").lower()
