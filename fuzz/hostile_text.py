"""How many hostile texts in how many places of how many outputs do nothing, and what random expressions do to rules.

``python -m fuzz.hostile_text [--expressions 1000000] [--seed 1]`` prints the counts. It exits with 1 where a text
did something, an expression raised anything but ``UnsafeExpression``, or one took longer than 10 ms of processor time.
"""

from __future__ import annotations

import argparse
import gc
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ncuview.base.errors import UnsafeExpression
from ncuview.base.expression import MAX_LENGTH, compile_expression
from tests.hostile import PAYLOADS
from tests.hostility.outputs import outputs_of
from tests.hostility.places import OF_ALL_LAUNCHES, PLACES, answers_in

if TYPE_CHECKING:
    from numpy.typing import NDArray

LIMIT_S = 0.01
NAMES = ("a", "b", "threshold_x")
_SPELLED = """
0 1 2.5 1e308 1j 's' None True ... min max abs where open + - * / ** // % @ << < <= == != > and or not if else in is
lambda for ( ) [ ] { } , : . = := ; # ~ ` $ __class__ __import__ yield await f'{a}'
"""
WORDS = (*NAMES, *_SPELLED.split(), "9" * 30, "\n", "\\\n", "\0", "\ud800", "\u00aa", "\t", " ")
GROWN = ("(%s + %s)", "(%s * %s)", "(%s / %s)", "min(%s, %s)", "(%s < %s)", "(%s and %s)", "where(%s, %s, 1)")


def hostile_texts() -> tuple[int, list[str]]:
    """Cases of a text, a place and an output, and what went wrong."""
    cases, wrong = 0, []
    for place in PLACES:
        kinds: Counter[str] = Counter()
        for answers in answers_in(place, PAYLOADS.values()):
            for name, content, judge in outputs_of(answers):
                kinds[name] += 1
                try:
                    judge(content)
                except Exception as error:  # noqa: BLE001  (whatever a reader raises is a finding)
                    wrong.append(f"{place}, {name}: {type(error).__name__}: {str(error)[:200]}")
        cases += len(kinds) * len(PAYLOADS)
        each = "each text alone" if place in OF_ALL_LAUNCHES else "all texts at once"
        print(f"{place:28} {len(kinds):3} outputs x {len(PAYLOADS)} texts, {each}", flush=True)
    return cases, wrong


def expression_of(chance: random.Random) -> str:
    """Words in any order, any letters, or what is well-formed and deep."""
    kind = chance.random()
    if kind < 0.5:
        return "".join(chance.choice(("", " ")) + chance.choice(WORDS) for _ in range(chance.randint(1, 40)))
    if kind < 0.6:
        return "".join(chr(chance.randrange(1, 0x11000)) for _ in range(chance.randint(1, 60)))
    if kind < 0.62:
        return chance.choice(WORDS) * chance.randint(1, MAX_LENGTH)
    text = chance.choice(NAMES)
    for _ in range(chance.randint(1, 8)):
        text = chance.choice(GROWN) % ((text, chance.choice(NAMES)) if chance.random() < 0.7 else (text, text))
    return text


def expressions(count: int, seed: int) -> tuple[Counter[str], float, list[str]]:
    """How many were taken and refused, the longest time in s, and what went wrong."""
    chance = random.Random(seed)
    values = {name: np.array([1.0, 0.0, np.nan, 1e308]) for name in NAMES}
    ends: Counter[str] = Counter()
    longest, wrong = 0.0, []
    gc.freeze()  # a look through what is left of before would be counted to some expression
    for _ in range(count):
        text = expression_of(chance)
        found, took = tried(text, values)
        if took > LIMIT_S:  # other work of the machine is counted too, but hardly four times
            took = min(took, *(tried(text, values)[1] for _ in range(3)))
        ends[found] += 1
        if found not in {"computed", "refused"}:
            wrong.append(f"{found}: {text[:100]!r}")
        longest = max(longest, took)
        if took > LIMIT_S:
            wrong.append(f"{took * 1000:.1f} ms: {text[:100]!r}")
    return ends, longest, wrong


def tried(text: str, values: Mapping[str, NDArray[np.float64]]) -> tuple[str, float]:
    """What became of an expression, and the processor seconds that it took."""
    began = time.thread_time()
    try:
        result = compile_expression(text, NAMES).evaluate(values)
        found = "infinite" if np.isinf(result).any() else "computed"
    except UnsafeExpression:
        found = "refused"
    except BaseException as error:  # noqa: BLE001  (nothing else may ever be raised)
        found = type(error).__name__
    return found, time.thread_time() - began


def main() -> int:
    """Print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--expressions", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    began = time.monotonic()
    cases, wrong = hostile_texts()
    print(f"{len(PAYLOADS)} texts, {len(PLACES)} places: {cases:,} cases in {time.monotonic() - began:.0f} s")
    print(f"{len(wrong)} did something", *wrong, sep="\n")
    ends, longest, bad = expressions(asked.expressions, asked.seed)
    print(f"{asked.expressions:,} expressions of seed {asked.seed}: {dict(ends)}, the longest {longest * 1000:.1f} ms")
    print(f"{len(bad)} were bad", *bad[:20], sep="\n")
    return int(bool(wrong or bad))


if __name__ == "__main__":
    sys.exit(main())
