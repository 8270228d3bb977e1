"""Compute control dependence: which branches, jumps, returns and calls decide whether an instruction is executed.

``decided_by`` gives them for one instruction; ``Decisions.selecting`` those that choose which of several definitions of
a value a use gets.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ncuview.sass.cfg import control_flow, immediate_post_dominators, reverse_postorder
from ncuview.sass.code import Code, analysis
from ncuview.sass.solver import solve


@dataclass(frozen=True, eq=False)
class Decisions:
    """What each deciding instruction (see ``ControlFlow.deciding``) decides about.

    That is what execution may reach from it before the place where all its ways meet, its immediate post-dominator,
    functions that are called there too. Sets of deciding instructions are integers: bit ``i`` stands for the one at
    ``positions[i]``.

    Attributes:
        positions: The deciding instructions.
        decided_by: For each block those that decide whether it is executed.
        on_one_side: Of these, those of which only one way leads to the block.
        from_one_side: For each block those of which only one way leads there before they decide again, even if it does
            so through the place where the ways meet, as in loops.
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

        Where the use lies on one side only, the choice is made for all that arrive there. What is not found: a branch
        that both skips another branch and decides together with it, where a third one skips the use as well.
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
        """The ways of deciding instructions that lead to each block, but for those that stop before it."""

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
