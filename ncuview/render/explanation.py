"""The page that explains a word: ``rule_words`` a rule or optimization, ``metric_words`` a metric or quantity.

``explanation`` takes any of these, and also units, bottlenecks, verdicts and grades.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

from ncuview.base.errors import UnknownMetric, UnknownRule, UsageError
from ncuview.base.suggestion import did_you_mean
from ncuview.engine.rule_file import Rule, find_rule
from ncuview.metrics.names import NAMES, OF_INSTRUCTIONS
from ncuview.metrics.quantities import QUANTITIES
from ncuview.metrics.textbook import definition, definitions
from ncuview.metrics.units import BOTTLENECKS, UNITS, units_of
from ncuview.programs.rule_file import program_rules
from ncuview.render.lists import program_rule_page, rule_page
from ncuview.render.metric_page import metric_of_instructions_page, metric_of_ncu_page, metric_page, quantity_page
from ncuview.render.optimization import MEANINGS, optimization_page
from ncuview.render.words import NO_UNITS

TERMS: Mapping[str, str] = {
    "advice": "Verdict of a launch: there is a change to make.",
    "near-peak": "Verdict of a launch: its bottleneck is close to what it attains, and no gain that is predicted is"
    " large enough to be certain.",
    "unclear": "Verdict of a launch: it is not near its peak, and no rule found a change that predicts enough.",
    "not-judged": "Verdict of a launch: most rules could not be evaluated, for missing metrics or machine code, or none"
    " looked at it. It says nothing about the kernel.",
    "not-yours": "Verdict of a launch: the kernel is part of a compiler's, framework's or vendor's library, and gets no"
    " advice about its code.",
    "certain": "Grade of a finding: it is based on machine code and counters.",
    "likely": "Grade of a finding: it is based on counters alone.",
    "measured": "Grade of a finding: a trial of the change ran.",
}
"""Words of answers that are neither rules, optimizations, metrics nor units."""


def explanation(word: str, rules: Sequence[Rule], width: int) -> str:
    """The page of a rule, optimization, metric, quantity, unit, bottleneck, verdict or grade.

    Raises:
        UsageError: There is nothing of this name; the hint names what it may stand for.
    """
    if word in TERMS:
        return f"{word}\n\n{textwrap.fill(TERMS[word], width)}\n"
    if word in UNITS or word in BOTTLENECKS or word in NO_UNITS:
        return _unit_page(word, width)
    try:
        return rule_words(word, rules, width)
    except UnknownRule:
        pass
    try:
        return metric_words(word, width)
    except UnknownMetric:
        pass
    codes = [name for each in rules for name in (each.text.code, each.text.name)]
    of_programs = [name for each in program_rules() for name in (each.code, each.name)]
    metrics = (*definitions(), *QUANTITIES, *NAMES, *OF_INSTRUCTIONS)
    known = (*codes, *of_programs, *MEANINGS, *metrics, *UNITS, *BOTTLENECKS, *NO_UNITS, *TERMS)
    hint = did_you_mean(word, known, "Rules, optimizations, metrics, quantities, units and verdicts are explained.")
    raise UsageError(f"nothing is called {word!r}", hint=hint, id="UnknownWord")


def rule_words(word: str, rules: Sequence[Rule], width: int) -> str:
    """The page of a rule, by its code or name, or of an optimization.

    Raises:
        UnknownRule: There is none of this name.
    """
    if optimization := next((each for each in MEANINGS if each == word.lower().replace("-", "_")), None):
        from ncuview.catalogue.kernels import all_kernels

        return optimization_page(optimization, rules, all_kernels(), width)
    if of_programs := next((each for each in program_rules() if word.lower() in {each.code.lower(), each.name}), None):
        return program_rule_page(of_programs, width)
    return rule_page(find_rule(rules, word), width)


def metric_words(name: str, width: int) -> str:
    """The page of a metric or quantity.

    Raises:
        UnknownMetric: There is none of this name.
    """
    if name in definitions() and name in QUANTITIES:  # nvprof's stall_wait is in %, the quantity a share
        return f"{metric_page(definition(name), width)}\n{quantity_page(QUANTITIES[name], width)}"
    if name in QUANTITIES:
        return quantity_page(QUANTITIES[name], width)
    if name in NAMES and name not in definitions():
        return f"{name}: {NAMES[name]}\n"
    if name in OF_INSTRUCTIONS:
        return metric_of_instructions_page(name, OF_INSTRUCTIONS[name], width)
    if page := metric_of_ncu_page(name, definitions().values(), QUANTITIES.values(), width):
        return page
    return metric_page(definition(name, also=(*QUANTITIES, *NAMES, *OF_INSTRUCTIONS)), width)


def _unit_page(word: str, width: int) -> str:
    """What a unit or bottleneck is, and the metric of its use."""
    if word in NO_UNITS:
        return f"{word}: what limits a launch where no unit does\n\n{textwrap.fill(NO_UNITS[word], width)}\n"
    lines = [f"{word}: a unit of the GPU, or several that are reported as one bottleneck", ""]
    for name in units_of(word):
        unit = UNITS[name]
        lines.append(f"{name}: {unit.says}; its use: {unit.metric or unit.quantity}")
    return "\n".join(lines) + "\n"
