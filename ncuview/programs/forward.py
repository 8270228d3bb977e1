"""``forward_frames``: for launches of a backward pass the user's line that called the operator of their autograd node.

PyTorch's ranges give forward operator and node the same number: ``aten::mul, seq = 12`` in the forward pass, and inside
of ``autograd::engine::evaluate_function: MulBackward0, op_id = 80`` a range ``MulBackward0, seq = 12``.
Sums of gradients stand in the evaluation of a node, and outside of the node's own range. Where no launch of the node
gives its number, it lies between those of the nodes around it: PyTorch evaluates nodes by falling numbers.
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
        last: tuple[int, Frame | None] | None = None
        waiting: dict[int, str] = {}
        for launch in run:
            call, names = calls[launch], ranges.get(launch, ())
            inside = next((place for place in reversed(range(len(names))) if _EVALUATED.match(names[place])), None)
            if inside is None:
                if call and call.line and call.file and not call.backward:
                    seen.add(names, Frame(call.function, call.file, call.line))
                    last, waiting = None, {}
                continue
            evaluation, *node = names[inside : inside + 2]
            number = _number(evaluation, *node)
            frame = seen.of(evaluation, number)
            if frame:
                found[launch] = frame
            if number is None:
                waiting |= {} if frame else {launch: evaluation}
                continue
            for each, unnumbered in waiting.items():
                if last and (between := seen.between(unnumbered, last, (number, frame))):
                    found[each] = between
            last, waiting = (number, frame), {}
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

    def of(self, evaluation: str, number: int | None) -> Frame | None:
        """The frame of the operator that is evaluated backwards, from the evaluation's range and the node's number.

        Without a number, as in sums of gradients, it is the frame that the same evaluation had before.
        """
        if number is None:
            return self._evaluated.get(evaluation)
        frame = self._named.get((_evaluated_word(evaluation), number)) or self._around(number)
        if frame:
            self._evaluated[evaluation] = frame
        return frame

    def between(
        self, evaluation: str, before: tuple[int, Frame | None], after: tuple[int, Frame | None]
    ) -> Frame | None:
        """The frame of an evaluated operator without a number, from number and frame of the nodes around it.

        It is that of the operators of its name between them; that of both nodes where no such operator launched.
        """
        if not 0 < before[0] - after[0] <= NEAR + 1:
            return None
        word, numbers = _evaluated_word(evaluation), range(after[0] + 1, before[0])
        named: set[Frame | None] = {self._named[word, each] for each in numbers if (word, each) in self._named}
        frames = named or {before[1], after[1]}
        return frames.pop() if len(frames) == 1 else None

    def _around(self, number: int) -> Frame | None:
        """The frame of an operator that launched nothing, where those before and after it are of one line."""
        before = self._nearest(range(number, number - NEAR - 1, -1))
        after = self._nearest(range(number + 1, number + NEAR + 1))
        return before if before == after else None

    def _nearest(self, numbers: Iterable[int]) -> Frame | None:
        return next((self._numbered[each] for each in numbers if each in self._numbered), None)


def _number(evaluation: str, node: str = "") -> int | None:
    """The number of the node that is evaluated, where its own range stands in that of the evaluation."""
    evaluated, numbered = _EVALUATED.match(evaluation), _NUMBERED.match(node)
    return int(numbered[2]) if evaluated and numbered and evaluated[1] == numbered[1] else None


def _evaluated_word(evaluation: str) -> str:
    evaluated = _EVALUATED.match(evaluation)
    return _word(evaluated[1]) if evaluated else ""


def _word(name: str) -> str:
    """``aten::_softmax`` and ``SoftmaxBackward0`` are both ``softmax``."""
    return _NODE.sub("", name.rpartition("::")[2]).replace("_", "").lower()
