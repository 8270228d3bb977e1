"""Read rule files (TOML) into compiled ``Rule`` objects, checked against the schema that this module defines.

It loads one file, a folder or the shipped rules, and finds a rule by code or name.

A rule with a part missing does not load; the error names file and key. Nothing in a rule file is code: expressions and
messages are compiled by ``expression`` and ``template``, which refuse everything but arithmetic and formatted numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ncuview.base.errors import RuleFileError, UnknownRule
from ncuview.base.expression import Expression, compile_expression
from ncuview.base.paths import shipped
from ncuview.base.toml_file import toml_of
from ncuview.engine.rule_packs import with_packs
from ncuview.engine.template import Template, compile_template
from ncuview.gpus import FIGURE_NAMES
from ncuview.metrics.quantities import DERIVED
from ncuview.metrics.units import UNITS, WALLS, members
from ncuview.records.diagnosis import Optimization

OPTIMIZATIONS: tuple[str, ...] = get_args(Optimization)
"""The closed list: what a rule may advise."""

Outcome = Literal["finding", "passed", "not_applicable", "skipped"]
Text = Annotated[str, Field(min_length=1)]
DERIVED_PREFIX = "derived:"


class _Part(BaseModel):
    """A table of a rule file: every key is known and has its type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Docs(_Part):
    """What the rule measures, why it matters, and what it does not say."""

    what: Text
    why: Text
    limits: Text


class Cite(_Part):
    """One document that teaches the optimisation."""

    document: Text
    section: Text
    claim: Text


class Threshold(_Part):
    """A number that decides, with the measurement that it comes from."""

    value: float
    why: Text


class EvidenceTexts(_Part):
    """When there is a subject, what is computed, and when that is a finding."""

    applies: Text
    let: dict[str, Text] = {}
    units: dict[str, Text] = {}
    when: Text


class GainTexts(_Part):
    """What the change does to the units and to latency; see speedup/model.py.

    ``time`` is a share of the launch's time that is left whatever the units say, such as full waves of blocks, and
    ``waits`` one that warps wait for by themselves, which today's wall hides and the change does not remove. A rule
    about the host's copies says in ``whole`` which share of the time of copies and kernel is left instead.
    """

    scale: dict[str, Text] = {}
    adds: dict[str, Text] = {}
    latency: Text = "0"
    time: Text = "0"
    waits: Text = "0"
    whole: Text | None = None
    assumes: Text


class WhereTexts(_Part):
    """Which lines carry the waste: arithmetic over metrics that ncu attributes to instructions, under ncu's names."""

    waste: Text
    among: Literal["load", "global_load", "global_store", "atomic", "local"] | None = None


class MessageTexts(_Part):
    """What is said for each outcome that a rule can reach by itself."""

    finding: Text
    check: Text
    passed: Text
    not_applicable: Text


class FixRegions(_Part):
    """The change, shown on marked regions of two real kernels."""

    title: Text
    before: Text
    after: Text


class Case(_Part):
    """Metric values and the outcome that they must give: the rule's own test."""

    name: Text
    gpu: Text = "NVIDIA H200"
    """Whose figures ``gpu.NAME`` stands for; ``default`` is a GPU that nobody measured."""
    metrics: dict[str, float]
    expect: Outcome
    values: dict[str, float] = {}


class RuleFile(_Part):
    """The whole file, as TOML."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    code: Annotated[str, Field(pattern=r"^[A-Z]{2,6}\d{3}$")]
    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    optimization: Optimization
    summary: Text
    docs: Docs
    cite: Annotated[list[Cite], Field(min_length=1)]
    metrics: Annotated[dict[str, Annotated[list[Text], Field(min_length=1)]], Field(min_length=1)]
    evidence: EvidenceTexts
    thresholds: dict[str, Threshold]
    gain: GainTexts
    where: WhereTexts | None = None
    message: MessageTexts
    fix: Annotated[list[FixRegions], Field(min_length=1)]
    case: Annotated[list[Case], Field(min_length=2)]


@dataclass(frozen=True)
class Rule:
    """A rule file with its expressions and messages compiled.

    Attributes:
        path: The file.
        text: Its parts as written, for documentation and tests.
        let: Named intermediate values, in the order in which they are computed.
        scale: Unit -> the share of its demand that is left after the change.
        adds: Unit -> demand that the change brings, as a share of the launch's present duration at the unit's peak.
        latency: The share of the launch's latency that the change removes, 0..1.
        time: The share of the launch's time that is left at least.
        waits: The share of the launch's time that its warps wait for by themselves, hidden by the wall or not.
        whole: The share of the time of copies and kernel that is left; None for rules about the kernel.
        waste: What each source line adds to the waste, over the metrics of instructions; None when lines cannot say.
    """

    path: Path
    text: RuleFile
    applies: Expression
    let: Mapping[str, Expression]
    when: Expression
    scale: Mapping[str, Expression]
    adds: Mapping[str, Expression]
    latency: Expression
    time: Expression
    waits: Expression
    whole: Expression | None
    waste: Expression | None
    finding: Template
    check: Template
    passed: Template
    not_applicable: Template

    @property
    def thresholds(self) -> dict[str, float]:
        """Threshold values under the names that expressions use."""
        return {f"threshold_{name}": threshold.value for name, threshold in self.text.thresholds.items()}

    @cached_property
    def gpu_figures(self) -> tuple[str, ...]:
        """The figures of a GPU that its evidence and its gain read, as ``gpu.NAME``, sorted."""
        parts = (self.applies, self.when, self.latency, self.time, self.waits, self.whole)
        named = (*parts, *self.let.values(), *self.scale.values(), *self.adds.values())
        return tuple(sorted({name for part in named if part for name in part.names & FIGURE_NAMES.keys()}))

    def metric_names(self) -> frozenset[str]:
        """Every metric that the rule reads, directly or through derived quantities, under Nsight Compute's names."""
        names: set[str] = set(self.waste.names if self.waste else ())
        for alternatives in self.text.metrics.values():
            for name in alternatives:
                if name.startswith(DERIVED_PREFIX):
                    names.update(DERIVED[name.removeprefix(DERIVED_PREFIX)].metrics)
                else:
                    names.add(name)
        return frozenset(names)


def load_rule(path: Path) -> Rule:
    """Load one rule file.

    Raises:
        RuleFileError: The file cannot be used; the message names file and key.
    """
    try:
        content = toml_of(path)
    except (OSError, ValueError) as error:
        raise RuleFileError(f"{path}: {error}", hint="A rule file is TOML in UTF-8.") from error
    try:
        text = RuleFile.model_validate(content)
    except ValidationError as error:
        raise RuleFileError(f"{path}: {_first_problem(error)}", hint="`ncuview rules` shows complete ones.") from error
    return _compiled(path, text)


def rules_below(folders: Iterable[Path]) -> tuple[Rule, ...]:
    """All rules below the folders, sorted by code.

    Raises:
        RuleFileError: A folder holds no rules, a file cannot be used, or two rules share a code or name.
    """
    rules = [rule for folder in folders for rule in _of_folder(folder)]
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
    return rules_below([shipped("rules")])


def load_rules(folders: Iterable[Path] = ()) -> tuple[Rule, ...]:
    """The shipped rules, those below further folders and those of installed packs, sorted by code.

    Raises:
        RuleFileError: A rule file cannot be used.
    """
    further = tuple(folders)
    return with_packs(rules_below([shipped("rules"), *further]) if further else shipped_rules(), rules_below)


def _of_folder(folder: Path) -> list[Rule]:
    rules = [load_rule(path) for path in sorted(folder.glob("*/*.toml"))]
    if not rules:
        what = "holds no rules" if folder.is_dir() else "is no folder"
        raise RuleFileError(f"{folder} {what}", hint="Rules are files <topic>/<rule>.toml below a folder.")
    return rules


def find_rule(rules: Iterable[Rule], wanted: str) -> Rule:
    """The rule with this code or name, in any case.

    Raises:
        UnknownRule: There is none.
    """
    by_id = {key.lower(): rule for rule in rules for key in (rule.text.code, rule.text.name)}
    if wanted.lower() not in by_id:
        raise UnknownRule(f"no rule {wanted!r}", hint="`ncuview rules` lists them.")
    return by_id[wanted.lower()]


def _first_problem(error: ValidationError) -> str:
    problem = error.errors()[0]
    key = ".".join(str(part) for part in problem["loc"])
    return f"{key}: {problem['msg'][0].lower()}{problem['msg'][1:]}"


class _Checker:
    """Compiles the texts of one file, naming file and key in every complaint."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def complain(self, key: str, problem: str) -> RuleFileError:
        return RuleFileError(f"{self._path}: {key}: {problem}")

    def expression(self, key: str, text: str, names: Iterable[str] | None) -> Expression:
        try:
            return compile_expression(text, names)
        except RuleFileError as error:
            raise type(error)(f"{self._path}: {key}: {error}") from error

    def template(self, key: str, text: str, names: Iterable[str]) -> Template:
        try:
            return compile_template(text, names)
        except RuleFileError as error:
            raise type(error)(f"{self._path}: {key}: {error}") from error

    def demands(self, key: str, texts: Mapping[str, str], names: Iterable[str]) -> dict[str, Expression]:
        for unit in texts:
            if not members(unit):
                raise self.complain(f"{key}.{unit}", f"no such unit; known: {', '.join([*UNITS, *WALLS])}")
        return {unit: self.expression(f"{key}.{unit}", text, names) for unit, text in texts.items()}


def _compiled(path: Path, text: RuleFile) -> Rule:
    check = _Checker(path)
    if path.stem != text.name:
        raise check.complain("name", f"must be the file's name, {path.stem!r}")
    for key, named in (("metrics", text.metrics), ("thresholds", text.thresholds), ("evidence.let", text.evidence.let)):
        for name in named:
            if not name.isidentifier():
                raise check.complain(f"{key}.{name}", "a name that expressions use is an identifier")
    for alias, alternatives in text.metrics.items():
        for name in alternatives:
            if name.startswith(DERIVED_PREFIX) and name.removeprefix(DERIVED_PREFIX) not in DERIVED:
                raise check.complain(f"metrics.{alias}", f"no derived quantity {name!r}")
            if name.startswith(DERIVED_PREFIX) and len(alternatives) > 1:
                raise check.complain(f"metrics.{alias}", "a derived quantity stands alone")

    names = {*text.metrics, *(f"threshold_{name}" for name in text.thresholds), *FIGURE_NAMES}
    applies = check.expression("evidence.applies", text.evidence.applies, names)
    let = {}
    for name, expression in text.evidence.let.items():
        let[name] = check.expression(f"evidence.let.{name}", expression, names)
        names.add(name)
    _require_cases(check, text)
    return Rule(
        path=path,
        text=text,
        applies=applies,
        let=let,
        when=check.expression("evidence.when", text.evidence.when, names),
        scale=check.demands("gain.scale", text.gain.scale, names),
        adds=check.demands("gain.adds", text.gain.adds, names),
        latency=check.expression("gain.latency", text.gain.latency, names),
        time=check.expression("gain.time", text.gain.time, names),
        waits=check.expression("gain.waits", text.gain.waits, names),
        whole=check.expression("gain.whole", text.gain.whole, names) if text.gain.whole else None,
        waste=check.expression("where.waste", text.where.waste, None) if text.where else None,
        finding=check.template("message.finding", text.message.finding, names),
        check=check.template("message.check", text.message.check, names),
        passed=check.template("message.passed", text.message.passed, names),
        not_applicable=check.template("message.not_applicable", text.message.not_applicable, ()),
    )


def _require_cases(check: _Checker, text: RuleFile) -> None:
    """One case per reachable outcome: a rule carries its own tests."""
    reachable: set[Any] = {"finding", "passed", "not_applicable"}
    untested = reachable - {case.expect for case in text.case}
    if untested:
        raise check.complain("case", f"no case expects {', '.join(sorted(untested))}")
    for case in text.case:
        if case.metrics.keys() != text.metrics.keys():
            raise check.complain(f"case {case.name!r}", f"must give exactly {', '.join(text.metrics)}")
