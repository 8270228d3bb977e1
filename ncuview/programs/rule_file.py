"""Rule files of programs: ``rules/program/<CODE>-<name>.toml``, loaded as ``ProgramRule`` by ``program_rules``."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ncuview.base.errors import RuleFileError
from ncuview.base.paths import shipped
from ncuview.records.program import Change, Framework

Text = Annotated[str, Field(min_length=1)]


class _Part(BaseModel):
    """A table of a rule file: every key is known and has its type."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class Docs(_Part):
    """What the rule looks for, why the change helps, and where it does not."""

    what: Text
    why: Text
    not_where: Annotated[list[Text], Field(min_length=1)]
    """Cases in which the better call was measured slower, or the change is wrong."""
    assumes: Text
    """What the predicted gain assumes."""


class Terms(_Part):
    """The change in a framework's terms."""

    advice: Text
    link: Annotated[str, Field(pattern=r"^https://[^\s]+$")]


class ProgramRule(_Part):
    """A complete rule file."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    code: Annotated[str, Field(pattern=r"^PROG\d{3}$")]
    name: Annotated[str, Field(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$")]
    change: Change
    summary: Text
    docs: Docs
    message: Text
    """What the launches show; ``{launches}``, ``{share}`` and ``{saved}`` are filled in."""
    frameworks: Annotated[dict[Framework, Terms], Field(min_length=1)]


@cache
def program_rules() -> tuple[ProgramRule, ...]:
    """The rules that ship, sorted by code.

    Raises:
        RuleFileError: A rule file cannot be used.
    """
    return tuple(map(program_rule, sorted((shipped("rules") / "program").glob("*.toml"))))


def program_rule(path: Path) -> ProgramRule:
    """Load one rule file.

    Raises:
        RuleFileError: The file cannot be used.
    """
    try:
        rule = ProgramRule.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise RuleFileError(f"{path}: {error}", hint="A rule file is TOML in UTF-8.") from error
    if path.stem != f"{rule.code}-{rule.name}":
        raise RuleFileError(f"{path}: the file of {rule.code} is {rule.code}-{rule.name}.toml")
    return rule
