"""Apply the ``[static]`` tables of rules to a kernel's decoded machine code: what it shows without counters.

``code_facts`` returns, for each rule whose subject the code has, a phrase and the instructions (``CodeFact``).

They are the subject of a rule, without its verdict or a predicted gain: a rule judges by how often instructions were
executed and by what the GPU waited for, which only counters say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ncuview.engine.rule_file import Rule, StaticJudgement
from ncuview.engine.static_subjects import BYTES_IN_FLIGHT, COUNT, IN_LOOP, SUBJECTS
from ncuview.gpus import shipped_tables
from ncuview.sass.code import Code
from ncuview.sass.repeated_passes import Place


@dataclass(frozen=True)
class CodeFact:
    """The subject of one rule in a kernel's code.

    Attributes:
        rule: The rule which judges it once there are counters.
        says: What there is, as words without a full stop.
        in_loop: Whether some of it is in a loop, where it counts.
        positions: The instructions.
    """

    rule: Rule
    says: str
    in_loop: bool
    positions: tuple[int, ...]


def code_facts(code: Code, places: Sequence[Place], rules: Iterable[Rule]) -> tuple[CodeFact, ...]:
    """What the code shows, in the order of the rules; what is in a loop comes first.

    Args:
        code: The kernel's instructions.
        places: The source line of each, 0 where it is unknown.
        rules: The rules; those without a ``[static]`` table need counters.
    """
    found = [fact for rule in rules if rule.static and (fact := _fact(rule, rule.static, code, places))]
    return tuple(sorted(found, key=lambda fact: not fact.in_loop))


def _fact(rule: Rule, static: StaticJudgement, code: Code, places: Sequence[Place]) -> CodeFact | None:
    subject = SUBJECTS[static.texts.subject]
    shown = subject.find(code, places)
    if shown is None:
        return None
    # Without a GPU, the GPU that needs the most bytes in flight decides.
    most = max(table.get("bytes_in_flight", 0.0) for table in shipped_tables().values())
    values = {**shown.values, **rule.parameters, BYTES_IN_FLIGHT: most}
    if not static.holds.evaluate({name: np.array([value]) for name, value in values.items()}).all():
        return None
    says = static.finding.fill({**shown.values, "n": _counted(shown.values[COUNT], static.texts.counts)})
    in_loop = bool(shown.values[IN_LOOP])
    return CodeFact(rule, f"{says}, in a loop" if in_loop and not subject.is_loop else says, in_loop, shown.positions)


def _counted(count: float, noun: str) -> str:
    """``1 load``, ``12 loads``, ``2 accesses``."""
    plural = noun + ("es" if noun.endswith("s") else "s")
    return f"{count:,.0f} {noun if count == 1 else plural}"
