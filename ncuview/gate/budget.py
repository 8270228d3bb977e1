"""Read a budget file (TOML, or a table of pyproject.toml) into a validated ``Budget``: limits on metrics and findings.

``read_budget`` takes a path; ``check_rules_exist`` refuses a budget that names a rule which was not evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ncuview.base.errors import BudgetError
from ncuview.base.files import LARGEST_TOML, parse_toml
from ncuview.base.suggestion import did_you_mean_file, suggestion
from ncuview.comparison.repeats import FLOOR_NS, TOLERANCE
from ncuview.gate.files import plain_words, read_text
from ncuview.metrics.names import NAMES
from ncuview.metrics.repeatability import DURATION, MetricClass, best_class
from ncuview.metrics.textbook import definitions
from ncuview.records.diagnosis import LaunchDiagnosis, SourceLine
from ncuview.records.gate import Level
from ncuview.records.profile import Extent

_PYPROJECT = "pyproject.toml"
_OLD_KEY = "promised"
_HINT = (
    "A [[budget]] has kernel; one of metric, finding (a rule) and predicted = true; for metric max, min or equal, for"
    " predicted max; and optionally level, grid, block, required, and advised for a finding. [baseline] has tolerance,"
    " floor_ns, time, counters and kernels. `ncuview metrics` lists metrics, `ncuview rules` rules."
)
_HEAD = re.compile(r"\s*\[\[\s*budget\s*\]\]")
_HEAD_IN_PYPROJECT = re.compile(r"\s*\[\[\s*tool\s*\.\s*ncuview\s*\.\s*budget(\s*\.\s*budget)?\s*\]\]")
_OF_NCU = re.compile(r"[a-z0-9]+__\w+(\.\w+)*|(thread_)?inst_executed\w*|memory_l[12]_\w+")

Number = Annotated[float, Field(allow_inf_nan=False)]
Extents = Annotated[list[Annotated[int, Field(ge=1)]], Field(min_length=1, max_length=3)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, populate_by_name=True)


class Entry(_Part):
    """One ``[[budget]]``."""

    kernel: str = Field(min_length=1)
    """The bare or the demangled name, or a shell pattern for either."""
    metric: str | None = None
    """A textbook metric, one of ncu's, or ``duration_ns``."""
    finding: str | None = None
    """A rule's code or name: the check fails where the rule fires."""
    advised: bool = False
    """Whether a finding that was rejected as advice passes."""
    predicted: Literal[True] | None = Field(default=None, validation_alias=AliasChoices("predicted", _OLD_KEY))
    """The predicted gain of the first advice; ``promised`` in 0.1."""
    max: Number | None = None
    min: Number | None = None
    equal: Number | None = None
    level: Level = "error"
    grid: Extents | None = None
    """Only launches with this grid; omitted trailing dimensions are 1."""
    block: Extents | None = None
    required: bool = True
    """Whether the entry must match a launch. Without a match it is not judged, or a warning if not required."""

    @field_validator("metric")
    @classmethod
    def _can_be_gated(cls, name: str | None) -> str | None:
        if name is None:
            return None
        if name != DURATION and name not in definitions() and not _OF_NCU.fullmatch(name):
            known = [*definitions(), DURATION, *NAMES.values()]
            raise ValueError(f"no metric is called {name!r}{suggestion(name, known)}")
        if name in definitions() and not definitions()[name].expressions:
            raise ValueError(f"Nsight Compute has no equivalent of {name}")
        if best_class(name) is MetricClass.NOISY:
            raise ValueError(f"{name} differs by 10 % and more between runs of the same code and is never gated")
        return name

    @model_validator(mode="after")
    def _is_one_condition(self) -> Self:
        subjects = [name for name in ("metric", "finding", "predicted") if getattr(self, name) is not None]
        limits = [name for name in ("max", "min", "equal") if getattr(self, name) is not None]
        if len(subjects) != 1:
            raise ValueError("give exactly one of metric, finding and predicted")
        if self.advised and self.finding is None:
            raise ValueError("advised belongs to a finding")
        if self.finding is not None and limits:
            raise ValueError(f"a finding takes no {limits[0]}: it fails where the rule fires")
        if self.predicted and limits != ["max"]:
            raise ValueError("predicted takes max, such as max = 1.2")
        if self.metric is not None and not limits:
            raise ValueError("a metric takes max, min or equal")
        if self.equal is not None and len(limits) > 1:
            raise ValueError("equal cannot be combined with max and min")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is above max")
        if self.equal is not None and self.metric and best_class(self.metric) is MetricClass.TIME:
            raise ValueError(f"{self.metric} differs in every run; give max or min instead of equal")
        return self

    def is_about(self, launch: LaunchDiagnosis) -> bool:
        """Whether the entry's pattern, grid and block match a launch."""
        fits = any(self.kernel == name or fnmatchcase(name, self.kernel) for name in (launch.kernel, launch.demangled))
        return fits and _fits(self.grid, launch.grid) and _fits(self.block, launch.block)


class BaselineLimits(_Part):
    """``[baseline]``: how the measurement is compared with a baseline."""

    tolerance: float = Field(default=TOLERANCE, gt=0, lt=1)
    floor_ns: float = Field(default=FLOOR_NS, ge=0, allow_inf_nan=False)
    time: Level = "error"
    counters: Level = "error"
    kernels: Level = "warn"
    """For kernels that are new or missing."""


class _File(_Part):
    budget: list[Entry] = Field(default_factory=list)
    baseline: BaselineLimits = BaselineLimits()


class Budget(_Part):
    """A budget file: its entries in order, and how a baseline is compared."""

    name: str = ""
    """The path as the user gave it."""
    entries: tuple[Entry, ...] = ()
    baseline: BaselineLimits = BaselineLimits()
    notes: tuple[str, ...] = ()
    """Outdated keys in the file, one sentence each."""
    lines: tuple[int, ...] = ()
    """The line of each entry in the file; empty where they are unknown, as for an inline array."""

    def origin(self, number: int) -> str:
        """Where an entry, counted from 1, stands: ``budget.toml:7, budget 2``."""
        return f"{_place(self.name, self.lines[number - 1] if self.lines else 0)}, budget {number}"

    def line(self, number: int) -> tuple[SourceLine, ...]:
        """The line of an entry, counted from 1, with the absolute path of its file; empty where it is unknown."""
        if not self.lines:
            return ()
        return (SourceLine(str(Path(self.name).absolute()), self.lines[number - 1], 1.0, ""),)


Rules = Callable[[], Iterable[tuple[str, str]]]
"""Returns codes and names of rules; only called where a budget names a rule."""


def read_budget(path: Path, rules: Rules = tuple) -> Budget:
    """The budget in a file; for a pyproject.toml, its table ``tool.ncuview.budget``.

    Args:
        path: The file.
        rules: The rules that will be evaluated, so that errors name unknown ones too; without it none is refused.

    Raises:
        BudgetError: It cannot be used; the message names file, line, entry and key of every error.
    """
    text = read_text(path, BudgetError, _HINT, LARGEST_TOML)
    if text is None:
        raise BudgetError(f"there is no budget file {path}", hint=did_you_mean_file(path, "Check its path."))
    try:
        content: Any = parse_toml(text)
    except ValueError as error:
        raise BudgetError(f"{path}: {error}", hint="A budget file is TOML.") from error
    if path.name == _PYPROJECT:
        content = _in_pyproject(path, content)
    try:
        found = _File.model_validate(content)
    except ValidationError as error:
        wrong = [*_wrong_keys(path, text, error), *_unknown_rules_beside(path, text, content, rules)]
        raise _errors(str(path), wrong, _HINT) from error
    if not found.budget and "baseline" not in content:
        raise BudgetError(f"{path} holds no budget", hint="Each budget begins with [[budget]].")
    heads = _heads(path, text)
    budget = Budget(
        name=str(path),
        entries=tuple(found.budget),
        baseline=found.baseline,
        lines=heads if len(heads) == len(found.budget) else (),
    )
    if any(entry.finding for entry in budget.entries) and (known := list(rules())):
        check_rules_exist(budget, known)
    return budget.model_copy(update={"notes": tuple(_old_keys(budget, content.get("budget", [])))})


def check_rules_exist(budget: Budget, codes_and_names: Iterable[tuple[str, str]]) -> None:
    """Refuse entries for rules that were not evaluated.

    Raises:
        BudgetError: An entry names an unknown rule.
    """
    findings = [(budget.origin(number), entry.finding) for number, entry in enumerate(budget.entries, start=1)]
    if wrong := list(_unknown_rules(findings, codes_and_names)):
        raise _errors(budget.name, wrong, "`ncuview rules` lists codes and names.")


def _unknown_rules(
    findings: Iterable[tuple[str, str | None]], codes_and_names: Iterable[tuple[str, str]]
) -> Iterator[str]:
    """``budget.toml:7, budget 3: finding: no rule is called ...`` for each origin and rule that is not known."""
    known = {word for pair in codes_and_names for word in pair}
    in_any_case = {word.lower() for word in known}
    for origin, finding in findings:
        if finding is not None and finding.lower() not in in_any_case:
            yield f"{origin}: finding: no rule is called {finding!r}{suggestion(finding, known)}"


def _unknown_rules_beside(path: Path, text: str, content: Any, rules: Rules) -> Iterator[str]:
    """The unknown rules of a file that has other errors too."""
    heads = _heads(path, text)
    entries = content.get("budget") if isinstance(content, dict) else None
    findings: list[tuple[str, str | None]] = []
    for at, entry in enumerate(entries if isinstance(entries, list) else ()):
        if isinstance(entry, dict) and isinstance(entry.get("finding"), str):
            line = heads[at] if at < len(heads) else 0
            findings.append((f"{_place(str(path), line)}, budget {at + 1}", entry["finding"]))
    if findings and (known := list(rules())):
        yield from _unknown_rules(findings, known)


def _errors(name: str, wrong: Sequence[str], hint: str) -> BudgetError:
    """One error for all that is wrong in a file, with a line for each where there are several."""
    if len(wrong) == 1:
        return BudgetError(wrong[0], hint=hint)
    return BudgetError("\n  ".join([f"{name} has {len(wrong)} errors:", *wrong]), hint=hint)


def _old_keys(budget: Budget, entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The outdated keys of valid entries, one sentence each."""
    for number, entry in enumerate(entries, start=1):
        if _OLD_KEY in entry:
            yield f"{budget.origin(number)}: {_OLD_KEY} is called predicted now; the old key still works in 0.2"


def _in_pyproject(path: Path, content: Any) -> Any:
    """The table ``tool.ncuview.budget``: the content of a complete budget file, or only its array of entries."""
    found = content.get("tool", {}).get("ncuview", {}) if isinstance(content.get("tool", {}), dict) else {}
    table = found.get("budget") if isinstance(found, dict) else None
    if table is None:
        raise BudgetError(f"{path} has no [[tool.ncuview.budget]]", hint=_HINT)
    return {"budget": table} if isinstance(table, list) else table


def _fits(wanted: list[int] | None, extent: Extent) -> bool:
    return wanted is None or (*wanted, 1, 1)[:3] == extent


def _wrong_keys(path: Path, text: str, error: ValidationError) -> Iterator[str]:
    """``budget.toml:7, budget 3: metric: no metric is called ...`` for each error."""
    heads = _heads(path, text)
    lines = text.splitlines()
    for problem in error.errors():
        location = list(problem["loc"])
        words = plain_words(problem)
        if problem["type"] == "extra_forbidden":
            words += suggestion(str(location[-1]), _keys_beside(location))
        if location[:1] == ["budget"] and len(location) > 1:
            at = int(location[1])
            key = ".".join(str(part) for part in location[2:])
            first = heads[at] if at < len(heads) else 0
            last = heads[at + 1] - 1 if at + 1 < len(heads) else len(lines)
            line = (_line_of_key(lines[:last], str(location[2]), first) if key and first else 0) or first
            yield f"{_place(str(path), line)}, budget {at + 1}: " + (f"{key}: {words}" if key else words)
        else:
            line = _line_of_key(lines, str(location[-1]), 0) if location else 0
            yield f"{_place(str(path), line)}, {'.'.join(map(str, location)) or 'file'}: {words}"


def _keys_beside(location: Sequence[int | str]) -> Iterable[str]:
    """The keys that are known where an unknown one stands."""
    if len(location) == 1:
        return _File.model_fields
    return BaselineLimits.model_fields if location[0] == "baseline" else Entry.model_fields


def _heads(path: Path, text: str) -> tuple[int, ...]:
    """The lines of ``[[budget]]``, from 1. They are as many as entries, unless the file writes entries otherwise."""
    head = _HEAD_IN_PYPROJECT if path.name == _PYPROJECT else _HEAD
    return tuple(number for number, line in enumerate(text.splitlines(), start=1) if head.match(line))


def _line_of_key(lines: Sequence[str], key: str, after: int) -> int:
    """The first line after a line that sets a key, or is the head of its table; 0 where none does."""
    sets = re.compile(rf"\s*([\"']?{re.escape(key)}[\"']?\s*=|\[\[?[\w .]*\b{re.escape(key)}\s*\])")
    return next((number for number, line in enumerate(lines, 1) if number > after and sets.match(line)), 0)


def _place(name: str, line: int) -> str:
    return f"{name}:{line}" if line else name
