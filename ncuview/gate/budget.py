"""Read a budget file (TOML, or a table of pyproject.toml) into a validated ``Budget``: limits on metrics and findings.

``read_budget`` takes a path; ``check_rules_exist`` refuses a budget that names a rule which was not evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from ncuview.base.errors import BudgetError
from ncuview.base.files import LARGEST_TOML, parse_toml
from ncuview.comparison.repeats import FLOOR_NS, TOLERANCE
from ncuview.gate.files import read_text
from ncuview.metrics.repeatability import DURATION, MetricClass, best_class
from ncuview.metrics.textbook import definitions
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.records.gate import Level
from ncuview.records.profile import Extent

_PYPROJECT = "pyproject.toml"
_OLD_KEY = "promised"
_HINT = "docs/how-to/baselines-and-budgets.md lists the keys of a budget."
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

    @field_validator("max", "min", "equal", mode="before")
    @classmethod
    def _integers_are_numbers(cls, value: Any) -> Any:
        return float(value) if isinstance(value, int) and not isinstance(value, bool) else value

    @field_validator("metric")
    @classmethod
    def _can_be_gated(cls, name: str | None) -> str | None:
        if name is None:
            return None
        if name != DURATION and name not in definitions() and not _OF_NCU.fullmatch(name):
            near = get_close_matches(name, [*definitions(), DURATION], n=2)
            raise ValueError(f"no metric is called {name!r}" + (f"; did you mean {' or '.join(near)}?" if near else ""))
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


def read_budget(path: Path) -> Budget:
    """The budget in a file; for a pyproject.toml, its table ``tool.ncuview.budget``.

    Raises:
        BudgetError: It cannot be used; the message names file, entry and key.
    """
    text = read_text(path, BudgetError, _HINT, LARGEST_TOML)
    if text is None:
        raise BudgetError(f"there is no budget file {path}", hint="Check its path.")
    try:
        content: Any = parse_toml(text)
    except ValueError as error:
        raise BudgetError(f"{path}: {error}", hint="A budget file is TOML.") from error
    if path.name == _PYPROJECT:
        content = _in_pyproject(path, content)
    try:
        found = _File.model_validate(content)
    except ValidationError as error:
        raise BudgetError(f"{path}, {_place(error)}", hint=_HINT) from error
    if not found.budget and "baseline" not in content:
        raise BudgetError(f"{path} holds no budget", hint="Each begins with [[budget]].")
    notes = tuple(_old_keys(path, content.get("budget", [])))
    return Budget(name=str(path), entries=tuple(found.budget), baseline=found.baseline, notes=notes)


def check_rules_exist(budget: Budget, codes_and_names: Iterable[tuple[str, str]]) -> None:
    """Refuse entries for rules that were not evaluated.

    Raises:
        BudgetError: An entry names an unknown rule.
    """
    known = {word.lower() for pair in codes_and_names for word in pair}
    for number, entry in enumerate(budget.entries, start=1):
        if entry.finding is not None and entry.finding.lower() not in known:
            near = get_close_matches(entry.finding.lower(), known, n=1)
            raise BudgetError(
                f"{budget.name}, budget {number}: finding: no rule {entry.finding!r} was evaluated"
                + (f"; did you mean {near[0]}?" if near else ""),
                hint="`ncuview rules` lists codes and names.",
            )


def _old_keys(path: Path, entries: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The outdated keys of valid entries, one sentence each."""
    for number, entry in enumerate(entries, start=1):
        if _OLD_KEY in entry:
            yield f"{path}, budget {number}: {_OLD_KEY} is called predicted now; the old key still works in 0.2"


def _in_pyproject(path: Path, content: Any) -> Any:
    """The table ``tool.ncuview.budget``: the content of a complete budget file, or only its array of entries."""
    found = content.get("tool", {}).get("ncuview", {}) if isinstance(content.get("tool", {}), dict) else {}
    table = found.get("budget") if isinstance(found, dict) else None
    if table is None:
        raise BudgetError(f"{path} has no [[tool.ncuview.budget]]", hint=_HINT)
    return {"budget": table} if isinstance(table, list) else table


def _fits(wanted: list[int] | None, extent: Extent) -> bool:
    return wanted is None or (*wanted, 1, 1)[:3] == extent


def _place(error: ValidationError) -> str:
    """``budget 3: metric: no metric is called ...``."""
    problem = error.errors()[0]
    location = list(problem["loc"])
    words = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        words = "unknown key"
    if location[:1] == ["budget"] and len(location) > 1:
        key = ".".join(str(part) for part in location[2:])
        return f"budget {int(location[1]) + 1}: " + (f"{key}: {words}" if key else words)
    return f"{'.'.join(str(part) for part in location) or 'file'}: {words}"
