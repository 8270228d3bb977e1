"""Every shipped rule: its numbers have sources, its citations and code regions exist, and its words are plain."""

from __future__ import annotations

import ast
import re
import tomllib
from collections import defaultdict

from ncuview.base.paths import shipped
from ncuview.engine.regions import region
from ncuview.engine.rule_file import OPTIMIZATIONS, Rule, load_rule, load_rules
from ncuview.patch import PATCHES
from tests.together import together

PATHS = sorted(shipped("rules").glob("*/*.toml"))
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


OWN = {"threshold", "prediction"}
"""Names of a rule's own numbers."""


def test_no_expression_stands_in_two_rules() -> None:
    """What two rules compute is a quantity, unless it has a single operation or reads the rule's own values."""
    rules_of: dict[str, set[str]] = defaultdict(set)
    for rule in load_rules():
        written = [rule.applies.text, *rule.when, *(each.text for each in rule.let.values())]
        written += [each.text for each in (*rule.effects.values(), *rule.added.values(), rule.latency_hidden)]
        for text in written:
            for node in ast.walk(ast.parse(text, mode="eval")):
                parts = list(ast.walk(node))
                own = any(isinstance(part, ast.Name) and part.id in OWN | rule.let.keys() for part in parts)
                if not own and sum(isinstance(part, ast.operator | ast.cmpop | ast.Call) for part in parts) >= 2:
                    rules_of[ast.unparse(node)].add(rule.text.code)
    assert {text: codes for text, codes in rules_of.items() if len(codes) > 1} == {}


@each_rule
def test_every_value_that_it_computes_is_read(rule: Rule) -> None:
    assert rule.let.keys() <= names_read(rule)


def test_codes_and_names_stand_once() -> None:
    rules = load_rules()
    assert len(rules) == len(PATHS)
    assert len({rule.text.code for rule in rules}) == len({rule.text.name for rule in rules}) == len(rules)


def test_every_shipped_file_is_a_rule_of_a_topic_or_the_list_of_documents() -> None:
    files = set(shipped("rules").rglob("*.toml"))
    assert files - set(PATHS) == {shipped("rules") / "documents.toml"}


def test_every_patch_that_a_rule_names_exists() -> None:
    named = {fix.patch for rule in load_rules() for fix in rule.text.fix if fix.patch}
    assert named == PATCHES.keys()
