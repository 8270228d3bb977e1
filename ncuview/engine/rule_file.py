"""Load rule files (TOML) into compiled ``Rule`` objects, checked against ``rule_schema``.

``load_rule`` loads a file; ``load_rules`` the shipped rules, the user's folders and the packs of installed packages.

``find_rule`` finds a rule by code or name.

A rule with a missing part does not load; the error names file and key. Nothing in a rule file is executed as code:
``expression`` and ``template`` compile expressions and messages, and refuse all but arithmetic and formatted numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any, get_args

from pydantic import ValidationError

from ncuview.base.errors import RuleFileError, UnknownRule, UnsafeExpression
from ncuview.base.expression import Expression, compile_expression
from ncuview.base.files import is_folder, toml_of
from ncuview.base.log import LOG
from ncuview.base.paths import shipped
from ncuview.base.suggestion import did_you_mean, did_you_mean_file, suggestion
from ncuview.engine.regions import region
from ncuview.engine.rule_packs import with_packs
from ncuview.engine.rule_schema import (
    Assumed,
    Parameter,
    RuleFile,
    StaticTexts,
    WithoutCodeTexts,
)
from ncuview.engine.static_subjects import BYTES_IN_FLIGHT, SUBJECTS
from ncuview.engine.template import Template, compile_template
from ncuview.gpus import FIGURE_NAMES
from ncuview.metrics.counted import uncounted
from ncuview.metrics.names import NAMES, OF_INSTRUCTIONS, in_words
from ncuview.metrics.quantities import QUANTITIES, metrics_of
from ncuview.records.diagnosis import Optimization
from ncuview.speedup import effects as effect_names

OPTIMIZATIONS: tuple[str, ...] = get_args(Optimization)
"""The closed list of what a rule may advise."""

_NOTHING = compile_expression("0")
_NO_MESSAGE = compile_template("", ())
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d*)?(?:[eE][+-]?\d+)?")
_OBVIOUS = frozenset({0.0, 1.0, 2.0, 32.0, 100.0})
"""Numbers that need no source: none, all, a pair, the threads of a warp or bytes of a sector, a percentage."""
_PARAMETER = re.compile(r"\b(?:threshold|prediction)\.\w+")
_COMPLETE = "instructions/INST001-loop-overhead.toml"
"""A shipped rule that shows what a rule file needs."""
_NOT_OF_LAUNCHES = "{} is a metric of each instruction, which waste and instruction quantities read."
_PER_CYCLE = "sm_cycles"
"""The quantity that added work is divided by."""


@dataclass(frozen=True)
class StaticJudgement:
    """A ``[static]`` table with its conditions and its phrase compiled."""

    texts: StaticTexts
    holds: Expression
    finding: Template


@dataclass(frozen=True)
class WithoutCode:
    """What replaces parts of a rule where a launch has no machine code."""

    inputs: tuple[str, ...]
    when: Mapping[str, Expression]
    fires: Expression
    finding: Template


@dataclass(frozen=True)
class Rule:
    """A rule file with its expressions and messages compiled.

    Attributes:
        path: The file.
        text: Its parts as written, for documentation and tests.
        inputs: The quantities and metrics that it reads, under their short names, in the order of their first use.
        let: Named intermediate values, in the order in which they are computed.
        when: Each condition as written -> its expression.
        fires: Whether all conditions hold.
        effects: Effect on the work of units -> the share that is left after the change.
        added: Effect -> new work after the change, in instructions or wavefronts of warps.
        latency_hidden: The share of the launch's latency that the change removes, 0..1.
        time_left: The share of the time that is left at least.
        waste: What each instruction adds to the waste, over the metrics of instructions; None without ``where``.
        static: What machine code shows of the subject without counters; None where counters are needed.
        assumed: Quantity -> what it counts as in a launch without machine code.
        without_code: The conditions and the message for such launches; None where the rule cannot judge them.
    """

    path: Path
    text: RuleFile
    inputs: tuple[str, ...]
    applies: Expression
    let: Mapping[str, Expression]
    when: Mapping[str, Expression]
    fires: Expression
    effects: Mapping[str, Expression]
    added: Mapping[str, Expression]
    latency_hidden: Expression
    time_left: Expression
    waste: Expression | None
    static: StaticJudgement | None
    assumed: Mapping[str, Expression]
    without_code: WithoutCode | None
    finding: Template
    check: Template
    passed: Template
    not_applicable: Template

    @cached_property
    def parameters(self) -> dict[str, float]:
        """The values of thresholds and of the prediction's parameters, under the names that expressions use."""
        return {name: parameter.value for name, parameter in _parameters(self.text).items()}

    @cached_property
    def unnamed_numbers(self) -> tuple[str, ...]:
        """The numbers in its expressions that are not thresholds or parameters and so have no source."""
        named = [*self.when.values(), *self.let.values(), *self.effects.values(), *self.added.values()]
        texts = [each.text for each in (self.applies, *named, self.latency_hidden, self.time_left)]
        return tuple(number for text in texts for number in _NUMBER.findall(text) if float(number) not in _OBVIOUS)

    def with_numbers(self, condition: str) -> str:
        """A condition of ``when`` with the values of its thresholds, for pages."""
        return self._with_numbers[condition]

    @cached_property
    def _with_numbers(self) -> dict[str, str]:
        return {each: _PARAMETER.sub(lambda match: f"{self.parameters[match[0]]:g}", each) for each in self.when}

    @cached_property
    def reads_code(self) -> bool:
        """Whether its evidence or its gain needs machine code."""
        return any(name in QUANTITIES and QUANTITIES[name].needs_code for name in self.inputs)

    @cached_property
    def from_counters(self) -> Rule | None:
        """The rule as it judges launches without machine code; None where it cannot."""
        weaker = self.without_code
        if weaker is None:
            return None
        return replace(
            self, inputs=weaker.inputs, when=weaker.when, fires=weaker.fires, finding=weaker.finding, waste=None
        )

    @cached_property
    def gpu_figures(self) -> tuple[str, ...]:
        """The figures of a GPU that its evidence and its gain read, as ``gpu.NAME``, sorted."""
        parts = (self.applies, self.fires, self.latency_hidden, self.time_left)
        named = (*parts, *self.let.values(), *self.effects.values(), *self.added.values())
        return tuple(sorted({name for part in named for name in part.names & FIGURE_NAMES.keys()}))

    def metric_names(self) -> frozenset[str]:
        """Every metric that the rule reads, directly or through quantities, under Nsight Compute's names."""
        names = {OF_INSTRUCTIONS[name] for name in self.waste.names} if self.waste else set()
        return frozenset(names.union(*(metrics_of(name) for name in self.inputs)))


def load_rule(path: Path) -> Rule:
    """Load one rule file.

    Raises:
        RuleFileError: The file cannot be used; the message names file and key.
    """
    try:
        content = toml_of(path)
    except (OSError, ValueError) as error:
        raise RuleFileError(f"{path}: {error}", hint="A rule file is TOML in UTF-8.") from error
    if content.get("schema") == 1:
        hint = "docs/how-to/write-a-rule.md shows schema 2: no aliases, conditions as a list, effects by name."
        raise RuleFileError(f"{path}: schema 1 is that of ncuview 0.1; this version reads schema 2", hint=hint)
    try:
        text = RuleFile.model_validate(content)
    except ValidationError as error:
        hint = f"A complete rule file is {shipped('rules') / _COMPLETE}"
        raise _errors(path, [RuleFileError(f"{path}: {each}") for each in _problems(error)], hint) from error
    return _compiled(path, text)


def rules_below(folders: Iterable[Path]) -> tuple[Rule, ...]:
    """All rules below the folders, sorted by code.

    Raises:
        RuleFileError: A folder holds no rules, a file cannot be used, two rules share a code or name, or a fix shows a
            region that does not exist.
    """
    rules = [rule for folder in folders for rule in _of_folder(folder)]
    _check_regions(rules)
    return _distinct(rules)


def _distinct(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules sorted by code, of which no two may share a code or name."""
    for key in ("code", "name"):
        seen: dict[str, Path] = {}
        for rule in rules:
            value = getattr(rule.text, key)
            if value in seen:
                raise RuleFileError(f"{rule.path}: {key} {value!r} is taken by {seen[value]}")
            seen[value] = rule.path
    return tuple(sorted(rules, key=lambda rule: rule.text.code))


@cache
def shipped_rules() -> tuple[Rule, ...]:
    """The rules that ship, sorted by code."""
    return _distinct(_of_folder(shipped("rules")))  # tests check their regions, not every answer


def load_rules(folders: Iterable[Path] = ()) -> tuple[Rule, ...]:
    """The shipped rules, those below further folders and those of installed packs, sorted by code.

    Raises:
        RuleFileError: A rule file cannot be used.
    """
    further = rules_below(folders)
    return with_packs(_distinct([*shipped_rules(), *further]) if further else shipped_rules(), rules_below)


def _of_folder(folder: Path) -> list[Rule]:
    rules = [load_rule(path) for path in _rule_files(folder)] if is_folder(folder) else []
    LOG.debug("%d rules below %s", len(rules), folder)
    if not rules:
        hint = "Rules are files <category>/<CODE>-<name>.toml below a folder."
        if is_folder(folder):
            raise RuleFileError(f"{folder} holds no rules", hint=hint)
        raise RuleFileError(f"{folder} is no folder", hint=did_you_mean_file(folder, hint))
    return rules


def _rule_files(folder: Path) -> list[Path]:
    """The files of rules about one launch; those of ``program`` are about the sequence of a program's launches."""
    return sorted(path for path in folder.glob("*/*.toml") if path.parent.name != "program")


def _check_regions(rules: Iterable[Rule]) -> None:
    """Refuse a fix that shows a region which does not exist."""
    for rule in rules:
        for fix in rule.text.fix:
            for shown in filter(None, (fix.before, fix.after)):
                region(shown, rule.path)


def find_rule(rules: Sequence[Rule], wanted: str) -> Rule:
    """The rule with this code or name, in any case.

    Raises:
        UnknownRule: There is none.
    """
    by_id = {key.lower(): rule for rule in rules for key in (rule.text.code, rule.text.name)}
    if wanted.lower() not in by_id:
        raise unknown_rule(wanted, rules)
    return by_id[wanted.lower()]


def unknown_rule(wanted: str, rules: Sequence[Rule]) -> UnknownRule:
    """The error for a word that is no code or name of a rule; the hint names the rules that it may stand for."""
    advising = [f"{each.text.code} {each.text.name}" for each in rules if each.text.optimization == wanted.lower()]
    if advising:
        hint = f"{wanted} is what {', '.join(advising)} advise{'s' if len(advising) == 1 else ''}."
    else:
        names = (word for each in rules for word in (each.text.code, each.text.name))
        hint = did_you_mean(
            wanted, names, "`ncuview rules` lists codes and names; --select SMEM selects all SMEM rules."
        )
    return UnknownRule(f"no rule {wanted!r}", hint=hint)


def _problems(error: ValidationError) -> Iterator[str]:
    for problem in error.errors():
        key = ".".join(str(part) for part in problem["loc"])
        yield f"{key}: {problem['msg'][0].lower()}{problem['msg'][1:]}"


def _errors(path: Path, wrong: Sequence[RuleFileError], hint: str = "") -> RuleFileError:
    """One error for all that is wrong in a file, with a line for each where there are several."""
    wrong = list({str(each): each for each in wrong}.values())
    hint = " ".join(dict.fromkeys(filter(None, [*(each.hint for each in wrong), hint])))
    if len(wrong) == 1:
        return type(wrong[0])(str(wrong[0]), hint=hint)
    lines = (str(each).removeprefix(f"{path}: ") for each in wrong)
    return RuleFileError("\n  ".join([f"{path} has {len(wrong)} errors:", *lines]), hint=hint)


class _Checker:
    """Compiles the texts of one file, and collects all errors, which name file and key."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._wrong: list[RuleFileError] = []

    def refuse_errors(self) -> None:
        """Raise an error for everything that was found to be wrong, if there is anything."""
        if self._wrong:
            raise _errors(self._path, self._wrong)

    def complain(self, key: str, problem: str) -> None:
        self._wrong.append(RuleFileError(f"{self._path}: {key}: {problem}"))

    def expression(self, key: str, text: str, names: Iterable[str] | None) -> Expression:
        try:
            return compile_expression(text, names, dotted=names is not None)
        except RuleFileError as error:
            used = [name for name in OF_INSTRUCTIONS if names is not None and re.search(rf"\b{name}\b", text)]
            hint = _NOT_OF_LAUNCHES.format(used[0]) if used else ""
            self._wrong.append(type(error)(f"{self._path}: {key}: {error}", hint=hint))
            return _NOTHING

    def all_of(self, key: str, conditions: list[str], names: set[str]) -> Expression:
        """One expression that holds where all conditions do; an error gives the column of its condition."""
        with suppress(RuleFileError):
            return compile_expression(_all(conditions), names, dotted=True)
        before = len(self._wrong)
        for each in conditions:
            self.expression(key, each, names)
        return _NOTHING if len(self._wrong) > before else self.expression(key, _all(conditions), names)

    def waste(self, key: str, text: str) -> Expression:
        expression = self.expression(key, text, None)
        for name in sorted(expression.names - OF_INSTRUCTIONS.keys()):
            what = "is a number of the launch" if name in QUANTITIES or name in NAMES else "is unknown"
            wrong = f"{self._path}: {key}: {name!r} {what}{suggestion(name, OF_INSTRUCTIONS)}"
            hint = f"waste reads metrics of each instruction: {in_words(OF_INSTRUCTIONS)}."
            self._wrong.append(UnsafeExpression(wrong, hint=hint))
        return expression

    def template(self, key: str, text: str, names: Iterable[str]) -> Template:
        try:
            return compile_template(text, names)
        except RuleFileError as error:
            self._wrong.append(type(error)(f"{self._path}: {key}: {error}"))
            return _NO_MESSAGE

    def effects(
        self, key: str, texts: Mapping[str, Any], known: Iterable[str], names: Iterable[str]
    ) -> dict[str, Expression]:
        for effect, text in texts.items():
            if effect not in known or not isinstance(text, str):
                self.complain(f"{key}.{effect}", f"no such effect; known: {', '.join(known)}")
        return {
            effect: self.expression(f"{key}.{effect}", text, names)
            for effect, text in texts.items()
            if isinstance(text, str)
        }

    def assumed(self, texts: Mapping[str, Assumed], known: Iterable[str]) -> dict[str, Expression]:
        """Each value may read quantities and metrics, and what is assumed before it."""
        compiled: dict[str, Expression] = {}
        for name, each in texts.items():
            key = f"without_code.assume.{name}"
            if name not in QUANTITIES:
                self.complain(key, f"no quantity has this name{suggestion(name, QUANTITIES)}")
            compiled[name] = self.expression(key, str(each.value), known)
            if later := sorted(compiled[name].names & (texts.keys() - compiled.keys() | {name})):
                self.complain(key, f"reads {later[0]}, which is not assumed before it")
        return compiled

    def judges_without_code(self, text: RuleFile, inputs: Iterable[str]) -> bool:
        """Whether counters and the assumptions give all that the rule reads; a shipped rule says why where not."""
        weaker = text.without_code
        if weaker and weaker.cannot:
            if weaker.assume or weaker.when or weaker.finding:
                self.complain("without_code.cannot", "no other key goes with it")
            return False
        unknown = dict.fromkeys(uncounted(inputs, weaker.assume if weaker else ()))
        if unknown and (weaker or text.status == "shipped"):
            self.complain(
                "without_code", f"says nothing of {', '.join(unknown)}, which only machine code gives: assume or cannot"
            )
        return not unknown

    def static(self, texts: StaticTexts, parameters: Iterable[str]) -> StaticJudgement | None:
        if texts.subject not in SUBJECTS:
            close = suggestion(texts.subject, SUBJECTS)
            self.complain("static.subject", f"no subject {texts.subject!r} in machine code{close}")
            return None
        names = SUBJECTS[texts.subject].names
        holds = self.all_of("static.when", texts.when or ["1"], {*names, *parameters, BYTES_IN_FLIGHT})
        return StaticJudgement(texts, holds, self.template("static.finding", texts.finding, {*names, "n"}))


def _parameters(text: RuleFile) -> dict[str, Parameter]:
    thresholds = {f"threshold.{name}": parameter for name, parameter in text.thresholds.items()}
    return thresholds | {f"prediction.{name}": parameter for name, parameter in text.prediction.items()}


def _compiled(path: Path, text: RuleFile) -> Rule:
    check = _Checker(path)
    if path.stem != f"{text.code}-{text.name}":
        check.complain("name", f"the file must be called {text.code}-{text.name}.toml")
    of_launch = {*QUANTITIES, *NAMES}
    for key, named in (
        ("thresholds", text.thresholds),
        ("prediction", text.prediction),
        ("evidence.values", text.evidence.values),
    ):
        for name in named:
            if not name.isidentifier():
                check.complain(f"{key}.{name}", "a name that expressions use is an identifier")
            if name in of_launch and named is text.evidence.values:
                check.complain(f"{key}.{name}", "a quantity has this name")

    names = {*of_launch, *_parameters(text), *FIGURE_NAMES}
    applies = check.all_of("evidence.applies", text.evidence.applies, names)
    let = {}
    for name, expression in text.evidence.values.items():
        let[name] = check.expression(f"evidence.values.{name}", expression, names)
        names.add(name)
    when = {each: check.expression("evidence.when", each, names) for each in text.evidence.when}
    left = {name: each for name, each in text.effects.items() if name != "added"}
    effects = check.effects("effects", left, effect_names.NAMES, names)
    more = text.effects.get("added", {})
    if not isinstance(more, dict):
        check.complain("effects.added", "is a table")
        more = {}
    added = check.effects("effects.added", more, effect_names.ADDED, names)
    hidden = effects.pop(effect_names.LATENCY_HIDDEN, _NOTHING)
    time_left = effects.pop(effect_names.TIME_LEFT, _NOTHING)
    message = text.message
    finding = check.template("message.finding", message.finding, names)
    to_check = check.template("message.check", message.check, names)
    passed = check.template("message.passed", message.passed, names)
    own = {*let, *_parameters(text), *FIGURE_NAMES}
    shared = (applies, *let.values(), *effects.values(), *added.values(), hidden, time_left)
    common = [*(each.names for each in shared), to_check.names, passed.names]

    def inputs_of(conditions: Iterable[Expression], said: Template) -> tuple[str, ...]:
        read = [*common, *(each.names for each in conditions), said.names]
        found = dict.fromkeys(name for used in read for name in sorted(used - own))
        return tuple(found if _PER_CYCLE in found or not added else [*found, _PER_CYCLE])

    fires = check.all_of("evidence.when", text.evidence.when, names)
    inputs = inputs_of(when.values(), finding)
    weaker = text.without_code or WithoutCodeTexts()
    assumed = check.assumed(weaker.assume, of_launch)
    key = "without_code"
    weaker_when = {each: check.expression(f"{key}.when", each, names) for each in weaker.when} or when
    weaker_fires = check.all_of(f"{key}.when", weaker.when, names) if weaker.when else fires
    weaker_finding = check.template(f"{key}.finding", weaker.finding, names) if weaker.finding else finding
    weaker_inputs = inputs_of(weaker_when.values(), weaker_finding)
    without_code = WithoutCode(weaker_inputs, weaker_when, weaker_fires, weaker_finding)
    judges_without_code = check.judges_without_code(text, weaker_inputs)
    waste = check.waste("where.waste", text.where.waste) if text.where else None
    static = check.static(text.static, _parameters(text)) if text.static else None
    not_applicable = check.template("message.not_applicable", message.not_applicable, ())
    check.refuse_errors()
    return Rule(
        path=path,
        text=text,
        inputs=inputs,
        applies=applies,
        let=let,
        when=when,
        fires=fires,
        effects=effects,
        added=added,
        latency_hidden=hidden,
        time_left=time_left,
        waste=waste,
        static=static,
        assumed=assumed,
        without_code=without_code if judges_without_code else None,
        finding=finding,
        check=to_check,
        passed=passed,
        not_applicable=not_applicable,
    )


def _all(conditions: list[str]) -> str:
    """One expression that holds where all conditions do."""
    return " and ".join(f"({each})" for each in conditions)
