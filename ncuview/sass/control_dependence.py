"""Compute which branches, jumps, returns and calls decide whether an instruction of a ``Code`` is executed.

``decided_by(code, position)`` returns their positions; ``decisions`` all of them, and which choose a use's definition.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ncuview.sass.cfg import control_flow, immediate_post_dominators, reverse_postorder, solve
from ncuview.sass.code import Code, analysis


@dataclass(frozen=True, eq=False)
class Decisions:
    """The blocks that each deciding instruction (see ``ControlFlow.deciding``) decides about.

    These are the blocks that execution may reach from it before all its paths meet at its immediate post-dominator,
    blocks of functions that are called there included. Sets of deciding instructions are integers: bit ``i`` stands for
    the one at ``positions[i]``.

    Attributes:
        positions: The deciding instructions.
        decided_by: For each block the deciding instructions that it depends on.
        on_one_side: Of these, the ones of which only one path leads to the block.
        from_one_side: For each block those of which only one path leads there before they decide again, even through
            the block where the paths meet, as in loops.
    """

    positions: tuple[int, ...]
    decided_by: tuple[int, ...]
    on_one_side: tuple[int, ...]
    from_one_side: tuple[int, ...]

    def named(self, deciding: int) -> tuple[int, ...]:
        """The positions of a set of deciding instructions."""
        found = []
        while deciding:
            lowest = deciding & -deciding
            found.append(self.positions[lowest.bit_length() - 1])
            deciding ^= lowest
        return tuple(found)

    def selecting(self, definitions: Iterable[int], use: int) -> int:
        """The set of those that choose which of these blocks' definitions a block uses.

        Where the use lies on one side only, the choice is made for all threads that arrive there. One case is not
        found: a branch that both skips another branch and decides together with it, where a third one skips the use.
        """
        until_they_meet = before_they_decide_again = 0
        for block in definitions:
            until_they_meet |= self.decided_by[block]
            before_they_decide_again |= self.from_one_side[block]
        return until_they_meet & ~self.on_one_side[use] | before_they_decide_again & ~self.from_one_side[use]


@analysis
def decisions(code: Code) -> Decisions:
    """Find what each branch, computed jump, guarded return and guarded call decides about."""
    flow, meets = control_flow(code), immediate_post_dominators(code)
    positions = tuple(sorted(flow.deciding))
    count = len(positions)
    own, stops = [0] * len(flow.blocks), [0] * len(flow.blocks)
    arriving: list[list[tuple[int, int]]] = [
        [(before, 0) for before in predecessors] for predecessors in flow.predecessors
    ]
    for entry, calls in enumerate(flow.callers()):
        arriving[entry] += [(call, 0) for call in calls]
    for bit, position in enumerate(positions):
        block, jumped, fell = flow.block_of[position], 1 << bit, 1 << (bit + count)
        own[block] = jumped | fell
        if (meet := meets[block]) is not None:
            stops[meet] |= own[block]
        called = flow.calls.get(block)
        ways = [(called, jumped)] if called is not None else []
        if block not in flow.calls:
            sides = flow.deciding[position]
            ways = [(to, (jumped, fell)[side] if len(sides) == 2 else jumped | fell) for side, to in enumerate(sides)]
        for to, token in ways:
            arriving[to].append((block, token))

    def solved(stops: Sequence[int]) -> list[int]:
        """The paths of deciding instructions that lead to each block, except those that stop before it."""

        def arrive(block: int, values: Sequence[int]) -> int:
            tokens = 0
            for before, token in arriving[block]:
                tokens |= (values[before] & ~own[before]) | token
            return tokens & ~stops[block]

        return solve(arrive, flow.with_calls(), 0, reverse_postorder(code))

    before_meeting, at_all = solved(stops), solved([0] * len(stops))
    jumped = (1 << count) - 1
    return Decisions(
        positions,
        decided_by=tuple((each | each >> count) & jumped for each in before_meeting),
        on_one_side=tuple((each ^ each >> count) & jumped for each in before_meeting),
        from_one_side=tuple((each ^ each >> count) & jumped for each in at_all),
    )


def decided_by(code: Code, position: int) -> tuple[int, ...]:
    """The positions of the branches and guarded calls that decide whether an instruction is executed."""
    found = decisions(code)
    return found.named(found.decided_by[control_flow(code).block_of[position]])
