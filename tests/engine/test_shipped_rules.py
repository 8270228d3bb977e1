"""Every shipped rule: its numbers have sources, its citations and code regions exist, and its words are plain."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict
from typing import cast

from ncuview.base.paths import shipped
from ncuview.engine.regions import region
from ncuview.engine.rule_file import OPTIMIZATIONS, Rule, load_rule, load_rules
from ncuview.patch import PATCHES
from ncuview.render.shown_change import changed_lines
from ncuview.render.terminal import CHANGED_LINES
from tests.together import together

PATHS = sorted(path for path in shipped("rules").glob("*/*.toml") if path.parent.name != "program")
DOCUMENTS = tomllib.loads((shipped("rules") / "documents.toml").read_text(encoding="utf-8"))
HEDGE = re.compile(r"\b(may|might|consider|perhaps|possibly|could be improved|try to)\b", re.IGNORECASE)
VERBS = {"fix", "use", "avoid", "improve", "reduce", "increase", "add", "remove", "make", "optimize", "pad", "check"}


each_rule = together("rule", [load_rule(path) for path in PATHS], name=lambda rule: rule.text.name)


def messages(rule: Rule) -> list[str]:
    message = rule.text.message
    return [message.finding, message.check, message.passed, message.not_applicable]


@each_rule
def test_every_fix_shows_two_different_regions_of_real_kernels(rule: Rule) -> None:
    for fix in rule.text.fix:
        before, after = region(fix.before or "", rule.path), region(fix.after or "", rule.path)
        assert before.strip()
        assert after.strip()
        assert before != after


@each_rule
def test_every_document_it_cites_is_listed(rule: Rule) -> None:
    assert {cite.document for cite in rule.text.cite} <= DOCUMENTS.keys()


@each_rule
def test_it_cites_a_teaching_document(rule: Rule) -> None:
    assert any(DOCUMENTS[cite.document]["kind"] != "vendor's guide" for cite in rule.text.cite)


@each_rule
def test_it_advises_something_of_the_closed_list(rule: Rule) -> None:
    assert rule.text.optimization in OPTIMIZATIONS


@each_rule
def test_its_name_is_a_noun_of_the_problem(rule: Rule) -> None:
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", rule.text.name)
    assert not VERBS & set(rule.text.name.split("-"))


@each_rule
def test_it_does_not_hedge(rule: Rule) -> None:
    spoken = [*messages(rule), rule.text.summary, *(fix.title for fix in rule.text.fix)]
    assert [text for text in spoken if HEDGE.search(text)] == []


@each_rule
def test_its_messages_are_single_lines(rule: Rule) -> None:
    assert not any("\n" in text for text in [*messages(rule), rule.text.summary])


def names_read(rule: Rule) -> set[str]:
    """Every name that the rule's expressions and messages read."""
    gains = [*rule.effects.values(), *rule.added.values(), rule.latency_hidden, rule.time_left]
    expressions = [rule.applies, rule.fires, *rule.let.values(), *gains]
    templates = [rule.finding, rule.check, rule.passed]
    return set().union(*(each.names for each in expressions), *(each.names for each in templates))


@each_rule
def test_every_threshold_decides_and_says_where_it_comes_from(rule: Rule) -> None:
    deciding = set(rule.applies.names | rule.fires.names)
    deciding |= rule.without_code.fires.names if rule.without_code else set()
    for name, step in reversed(list(rule.let.items())):
        deciding |= step.names if name in deciding else frozenset()
    assert {f"threshold.{name}" for name in rule.text.thresholds} <= deciding
    assert not {f"prediction.{name}" for name in rule.text.prediction} & deciding
    assert {f"prediction.{name}" for name in rule.text.prediction} <= names_read(rule)
    assert all(len(each.source) > 20 for each in (*rule.text.thresholds.values(), *rule.text.prediction.values()))


@each_rule
def test_every_number_has_a_name_and_a_source(rule: Rule) -> None:
    assert rule.unnamed_numbers == ()
    assert not any(parameter.kind == "assumed" for parameter in rule.text.prediction.values())


def test_few_thresholds_are_assumed() -> None:
    thresholds = [each for rule in load_rules() for each in rule.text.thresholds.values()]
    assert sum(each.kind == "assumed" for each in thresholds) <= 15


GPU_FIGURE = "it reads a figure of the GPU, which quantities, made of a report's numbers alone, cannot"
IN_TWO_RULES = {
    "atomic_lanes_per_sector >= 16.0 and l2_atomic_pct >= 50.0 * gpu.float_atomic_use": GPU_FIGURE,
    "1 - (copy_time - host_copied_bytes / gpu.host_bytes_per_ns) / host_end_to_end_time": GPU_FIGURE,
    "resident_bytes_in_flight < 0.75 * gpu.bytes_in_flight": GPU_FIGURE,
    "1 - min(1, bytes_in_flight_beyond_l1 / gpu.bytes_in_flight)": GPU_FIGURE,
}
"""Expressions, with the rules' own values and numbers put in, that stand in two rules -> why they are no quantity."""


class _Expanded(ast.NodeTransformer):
    """Puts the definitions of a rule's own values and the values of its numbers in the place of their names."""

    def __init__(self, rule: Rule) -> None:
        self._numbers = rule.parameters
        self._values: dict[str, ast.expr] = {}
        for name, each in rule.let.items():
            self._values[name] = self.of(each.text)

    def of(self, text: str) -> ast.expr:
        return cast("ast.expr", self.visit(ast.parse(text, mode="eval").body))

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self._values.get(node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        number = self._numbers.get(ast.unparse(node))
        return node if number is None else ast.Constant(number)


def test_no_expression_stands_in_two_rules() -> None:
    """What two rules compute is a quantity, unless it has a single operation."""
    rules_of: dict[str, set[str]] = defaultdict(set)
    for rule in load_rules():
        gains = [*rule.effects.values(), *rule.added.values(), rule.latency_hidden, rule.time_left]
        written = [rule.applies.text, *rule.when, *(each.text for each in (*rule.let.values(), *gains))]
        for node in (node for text in written for node in ast.walk(_Expanded(rule).of(text))):
            parts = list(ast.walk(node))
            reads = any(isinstance(part, ast.Name) for part in parts)
            if reads and sum(isinstance(part, ast.operator | ast.cmpop | ast.Call) for part in parts) >= 2:
                rules_of[ast.unparse(node)].add(rule.text.code)
    twice = {text for text, codes in rules_of.items() if len(codes) > 1}
    assert twice >= IN_TWO_RULES.keys()
    assert {text for text in twice if not any(text in known for known in IN_TWO_RULES)} == set()


@each_rule
def test_every_value_that_it_computes_is_read(rule: Rule) -> None:
    assert rule.let.keys() <= names_read(rule)


def test_codes_and_names_stand_once() -> None:
    rules = load_rules()
    assert len(rules) == len(PATHS)
    assert len({rule.text.code for rule in rules}) == len({rule.text.name for rule in rules}) == len(rules)


def test_every_shipped_file_is_a_rule_of_a_topic_or_the_list_of_documents() -> None:
    files = set(shipped("rules").rglob("*.toml"))
    of_programs = {path for path in files if path.parent.name == "program"}
    assert files - set(PATHS) - of_programs == {shipped("rules") / "documents.toml"}


@each_rule
def test_a_change_that_is_too_long_for_a_page_has_a_recipe_of_two_sentences(rule: Rule) -> None:
    for fix in rule.text.fix:
        codes = [region(each, rule.path) for each in (fix.before, fix.after) if each]
        too_long = len(codes) == 2 and len(list(changed_lines(*codes))) > CHANGED_LINES
        assert bool(fix.recipe) == too_long
        assert fix.recipe.count(". ") <= 1
        assert len(fix.recipe) <= 200


def test_every_patch_that_a_rule_names_exists() -> None:
    named = {fix.patch for rule in load_rules() for fix in rule.text.fix if fix.patch}
    assert named == PATCHES.keys()
