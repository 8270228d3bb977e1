"""Lists of the catalogue's kernels and of the rules, as a terminal table (``*_page``) and as JSON (``*_json``).

``rule_page`` is the plain-text page of one ``Rule`` for ``ncuview explain``: what it measures, why, and how to fix it,
with code before and after, what the prediction assumes, numbers with their sources, limits and documents.
``program_rule_page`` is that of a rule about the calls of a program.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from itertools import groupby

from rich.table import Column

from ncuview.catalogue.kernel_file import Kernel
from ncuview.engine.regions import region
from ncuview.engine.rule_file import Rule
from ncuview.programs.rule_file import ProgramRule
from ncuview.render.terminal import page_console, page_text, plain_table
from ncuview.render.text import json_text, safe_page

_INDENT = "  "
_OWN = "ncuview"
"""The document of kernels that no document has."""


def families_page(kernels: Sequence[Kernel], width: int) -> str:
    """The names of the kernels of each family, in the order of its ladder."""
    parts = [_wrapped(f"{len(kernels)} kernels. `ncuview kernels FAMILY` shows what each is about.", width)]
    for family, members in groupby(kernels, lambda kernel: kernel.text.family):
        names = [kernel.name for kernel in members]
        # A name is not broken at its hyphens and brackets, so that it can be copied.
        listed = textwrap.fill(
            ", ".join(names),
            width,
            initial_indent=_INDENT,
            subsequent_indent=_INDENT,
            break_on_hyphens=False,
            break_long_words=False,
        )
        parts.append(f"{_heading(f'{family}: {len(names)}')}\n{listed}")
    return safe_page("\n\n".join(parts) + "\n")


def family_page(kernels: Sequence[Kernel], width: int) -> str:
    """Step, name and subject of each kernel of a family, in the order of its ladder, below its documents."""
    family = kernels[0].text.family
    parts = [_wrapped(f"{family}: {len(kernels)} kernels. `ncuview ladder {family}` compares them.", width)]
    longest = max(len(kernel.name) for kernel in kernels)
    for document, members in groupby(kernels, lambda kernel: kernel.text.document):
        title = "ncuview's own kernels" if document == _OWN else document
        rows = [(str(k.text.step_number), k.name, k.text.teaches) for k in members]
        name = Column("kernel", overflow="fold", width=min(longest, width // 2))
        columns = (Column("step", justify="right"), name, Column("what it shows", overflow="fold"))
        parts.append(f"{_heading(title)}\n{_printed(columns, rows, width).rstrip()}")
    return safe_page("\n\n".join(parts) + "\n")


def kernels_json(kernels: Sequence[Kernel]) -> str:
    """The front matter of each kernel."""
    entries = [kernel.text.model_dump(by_alias=True, exclude={"schema_version"}) for kernel in kernels]
    return json_text({"schema": "ncuview.kernels/1", "kernels": entries})


def rules_page(rules: Sequence[Rule], of_programs: Sequence[ProgramRule], width: int) -> str:
    """Code, name, optimization and summary of each rule; those about programs are last."""
    rows: list[tuple[str, ...]] = [(r.text.code, r.text.name, r.text.optimization, r.text.summary) for r in rules]
    rows += [(rule.code, rule.name, rule.change, rule.summary) for rule in of_programs]
    return _table(("code", "rule", "advises", "when"), rows, width)


def rules_json(rules: Sequence[Rule], of_programs: Sequence[ProgramRule]) -> str:
    """The content of the rule files without their examples; those about programs have a key of their own."""
    entries = [rule.text.model_dump(by_alias=True, exclude={"schema_version", "example"}) for rule in rules]
    programs = [rule.model_dump(by_alias=True, exclude={"schema_version"}) for rule in of_programs]
    return json_text({"schema": "ncuview.rules/2", "rules": entries, "program_rules": programs})


def _table(names: Sequence[str], rows: Sequence[tuple[str, ...]], width: int) -> str:
    return _printed([Column(name, overflow="fold") for name in names], rows, width)


def _printed(columns: Sequence[Column], rows: Sequence[tuple[str, ...]], width: int) -> str:
    console = page_console(width, color=False)
    console.print(plain_table(columns, rows))
    return page_text(console)


def rule_page(rule: Rule, width: int) -> str:
    """What is measured, why it matters, the change on real code, the thresholds with their sources, the documents."""
    text = rule.text
    marks = ", a draft" if text.status == "draft" else ""
    marks += ", about older GPUs" if text.overtaken else ""
    parts = [f"{text.code} {text.name}: {text.optimization}{marks}", _wrapped(text.summary + ".", width)]
    parts += [_section("What is measured", text.docs.what, width), _section("Why it matters", text.docs.why, width)]
    for fix in text.fix:
        parts.append(_section(fix.title, fix.recipe, width) if fix.recipe else _heading(fix.title))
        if not fix.before or not fix.after:
            continue
        for label, reference in (("Before", fix.before), ("After", fix.after)):
            parts.append(
                f"{_INDENT}{label}: {reference}\n\n" + textwrap.indent(region(reference, rule.path), _INDENT * 3)
            )
    parts += [_formulas(title, lines) for title, lines in _formulas_of(rule).items() if lines]
    parts.append(_section("What the prediction assumes", text.docs.assumes + ".", width))
    for title, parameters in (("Threshold", text.thresholds), ("Parameter of the prediction", text.prediction)):
        for name, number in parameters.items():
            parts.append(_section(f"{title} {name}: {number.value:g}, {number.kind}", number.source, width))
    parts.append(_section("Limits", text.docs.limits, width))
    if words := without_code_words(rule):
        parts.append(_section("Without machine code", words, width))
    parts.append(_heading("Taught in"))
    parts += [_wrapped(f"{cite.document}, {cite.section}: {cite.claim}", width, _INDENT) for cite in text.cite]
    return safe_page("\n\n".join(parts))


def program_rule_page(rule: ProgramRule, width: int) -> str:
    """What a rule about programs looks for, why the change helps, where it does not, and the change per framework."""
    parts = [f"{rule.code} {rule.name}: {rule.change}", _wrapped(rule.summary + ".", width)]
    parts += [_section("What it looks for", rule.docs.what, width), _section("Why it matters", rule.docs.why, width)]
    for framework, terms in rule.frameworks.items():
        parts += [_section(f"The change, {framework}", terms.advice, width), f"{_INDENT}{terms.link}"]
    parts.append(_section("What the prediction assumes", rule.docs.assumes + ".", width))
    parts.append(_heading("Where it brings nothing"))
    parts += [_wrapped(each, width, _INDENT) for each in rule.docs.not_where]
    return safe_page("\n\n".join(parts))


def _formulas_of(rule: Rule) -> dict[str, list[str]]:
    """The expressions of a rule as its file has them, by their title."""
    text = rule.text
    left = {name: each for name, each in text.effects.items() if isinstance(each, str)}
    added = {name: each for table in text.effects.values() if isinstance(table, dict) for name, each in table.items()}
    return {
        "It applies where": text.evidence.applies,
        "It is a finding where": text.evidence.when,
        "It is a finding without machine code where": text.without_code.when if text.without_code else [],
        "Values": [f"{name} = {each}" for name, each in text.evidence.values.items()],
        "Effects of the change": [f"{name} = {each}" for name, each in left.items()],
        "Work that the change adds": [f"{name} = {each}" for name, each in added.items()],
    }


def without_code_words(rule: Rule) -> str:
    """What the rule assumes in launches without machine code, or cannot judge; empty where it reads no code."""
    texts = rule.text.without_code
    if texts and texts.cannot:
        return f"It cannot judge: only machine code shows {texts.cannot}."
    if not rule.reads_code or rule.without_code is None:
        return ""
    assumed = [
        f"{name} = {_number(each.value)}: {each.reason}" for name, each in (texts.assume if texts else {}).items()
    ]
    return f"It assumes {' '.join(assumed)}" if assumed else "It judges by counters."


def _number(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _formulas(title: str, lines: Sequence[str]) -> str:
    return "\n".join([_heading(title), *(f"{_INDENT}{line}" for line in lines)])


def _heading(title: str) -> str:
    return f"{title}\n{'-' * len(title)}"


def _section(title: str, body: str, width: int) -> str:
    return f"{_heading(title)}\n{_wrapped(body, width)}"


def _wrapped(body: str, width: int, indent: str = "") -> str:
    flowing = " ".join(body.split())
    return textwrap.fill(flowing, width, initial_indent=indent, subsequent_indent=indent * 2 if indent else "")
