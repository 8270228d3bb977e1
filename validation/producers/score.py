"""Score ``sass.waiting.producers`` on stalled instructions whose producer is known by construction.

    python -m validation.producers.score [development | held-out] [--wrong]

The labels and the machine code are in ``development.tsv`` and ``held-out.tsv``; ``programs.py`` says how they were
made. An answer is right if all its instructions are of the label's kind and lines. Beside it stand the last load before
the stall, and the last instruction before it that this stall reason waits for, in the order of addresses.

A use stalls on its value only if it waits for the scoreboard that the labelled instruction sets, by the control codes
of both; the compiler often waits earlier, for a value of the same scoreboard. Labels that cannot stall do not count,
nor those with less than three candidates.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ncuview.sass.code import Code
from ncuview.sass.instruction import loaded_from
from ncuview.sass.waiting import is_l1tex, is_short, producers, scoreboards
from validation.producers.programs import HALVES, HERE, Label

_BYTES = 16
_CANDIDATES = 3
_JUMPS = ("BRA", "EXIT", "RET", "CALL", "BRX")


@dataclass(frozen=True)
class Stall:
    """A label and the code that it is about."""

    label: Label
    code: Code
    lines: tuple[int, ...]
    position: int

    @property
    def candidates(self) -> tuple[int, ...]:
        """The other instructions that this stall reason may be about: in a loop all, else those before the use."""
        asked = is_l1tex if self.label.reason == "long_scoreboard" else is_short
        end = len(self.code) if self.label.shape == "loop-carried" else self.position
        return tuple(at for at in range(end) if asked(self.code.instructions[at]) and at != self.position)

    @property
    def truth(self) -> frozenset[int]:
        """The instructions of the label's kind on its lines."""
        return frozenset(
            at
            for at, (each, line) in enumerate(zip(self.code.instructions, self.lines, strict=True))
            if line in self.label.lines and each.base_opcode == self.label.kind
        )

    @property
    def is_across(self) -> bool:
        """Whether a jump, or the target of one, lies between the producer and the use, or the use comes first."""
        instructions, addresses = self.code.instructions, self.code.addresses
        targets = {each.target for each in instructions if each.target is not None}
        after = range(min(self.truth) + 1, self.position)
        jumped = any(instructions[at].base_opcode in _JUMPS for at in after)
        entered = any(addresses[at] in targets for at in (*after, self.position))
        return jumped or entered or max(self.truth) > self.position

    def is_right(self, answer: tuple[int, ...]) -> bool:
        """Whether an answer names instructions of the label and no others."""
        return bool(answer) and self.truth.issuperset(answer)

    @property
    def may_happen(self) -> bool:
        """Whether the use waits for a scoreboard that a labelled instruction sets."""
        set_by = {scoreboards(self.code.controls[at]).write for at in self.truth}
        return not set_by.isdisjoint(scoreboards(self.code.controls[self.position]).waits)

    def answer(self, *, text_only: bool = False) -> tuple[int, ...]:
        """The answer from control codes and registers, or from registers alone, as ncu prints the code."""
        code = Code(self.code.texts, self.code.addresses) if text_only else self.code
        return producers(code, self.position, self.label.reason)

    def last_load(self) -> tuple[int, ...]:
        """The last load before the use."""
        before = [at for at in range(self.position) if loaded_from(self.code.instructions[at])]
        return tuple(before[-1:])

    def last_of_the_reason(self) -> tuple[int, ...]:
        """The last instruction before the use that the stall reason waits for."""
        return tuple([at for at in self.candidates if at < self.position][-1:])


def read(table: Path) -> tuple[list[Label], dict[str, tuple[Code, tuple[int, ...]]]]:
    """The labels of a half, and the code of each kernel with the line of each instruction."""
    labels: list[Label] = []
    rows: dict[str, list[tuple[int, int, str]]] = {}
    for line in table.read_text(encoding="utf-8").splitlines():
        word, *rest = line.split("\t")
        if word == "label":
            kernel, constant, kind, reason, shape, lines = rest
            labels.append(Label(kernel, int(constant, 16), kind, reason, shape, tuple(map(int, lines.split(",")))))
        elif word == "kernel":
            found = rows.setdefault(rest[0], [])
        else:
            found.append((int(word), int(rest[0], 16), rest[1]))
    return labels, {name: _code(of_kernel) for name, of_kernel in rows.items()}


def _code(rows: list[tuple[int, int, str]]) -> tuple[Code, tuple[int, ...]]:
    lines, controls, texts = zip(*rows, strict=True)
    return Code(texts, tuple(range(0, _BYTES * len(rows), _BYTES)), controls), lines


def stalls(half: str) -> Iterator[Stall]:
    """The labelled stalls of a half that may happen, whose use is one instruction, and that have enough candidates."""
    labels, kernels = read(HERE / f"{half}.tsv")
    for label in labels:
        code, lines = kernels[label.kernel]
        uses = [at for at, each in enumerate(code.instructions) if hex(label.constant) in each.operands]
        found = [Stall(label, code, lines, at) for at in uses]
        if len(found) == 1 and found[0].may_happen and len(found[0].candidates) >= _CANDIDATES:
            yield found[0]


def report(half: str, *, wrong: bool) -> None:
    """Print the figures of one half."""
    labels, _ = read(HERE / f"{half}.tsv")
    found = list(stalls(half))
    across = sum(each.is_across for each in found)
    kinds = Counter(each.label.kind for each in found)
    print(f"{half}: {len(found)} labelled stalls of {len(labels)} uses, {len(kinds)} kinds of producer")
    print(f"  across blocks or loop-carried: {_share(across, found)}")
    for what, answers in (
        ("producer named", [each.answer() for each in found]),
        ("  without control codes", [each.answer(text_only=True) for each in found]),
        ("last load before the stall", [each.last_load() for each in found]),
        ("last one that the reason waits for", [each.last_of_the_reason() for each in found]),
    ):
        right = [each.is_right(answer) for each, answer in zip(found, answers, strict=True)]
        print(f"  {what:<36}{_share(sum(right), found)}")
    right_of = Counter(each.label.kind for each in found if each.is_right(each.answer()))
    print("  " + ", ".join(f"{kind} {right_of[kind]}/{number}" for kind, number in sorted(kinds.items())))
    for each in (each for each in found if wrong and not each.is_right(each.answer())):
        print(f"  wrong: {each.label}\n    at {each.code.texts[each.position]}")
        print(f"    answer {[(each.lines[at], each.code.texts[at]) for at in each.answer()]}")
        print(f"    truth {[(each.lines[at], each.code.texts[at]) for at in sorted(each.truth)]}")


def _share(number: int, of: list[Stall]) -> str:
    return f"{number} of {len(of)} ({number / max(len(of), 1):.1%})"


def main() -> None:
    """Print the figures of one half or both."""
    parser = argparse.ArgumentParser(description="Score the producers of labelled stalls.")
    parser.add_argument("half", nargs="?", choices=HALVES)
    parser.add_argument("--wrong", action="store_true", help="list the wrong answers")
    given = parser.parse_args()
    for half in [given.half] if given.half else HALVES:
        report(half, wrong=given.wrong)


if __name__ == "__main__":
    main()
