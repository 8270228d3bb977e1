"""Add to loaded rules those of installed packages: folders that entry points of the group ``ncuview.rules`` name.

``with_packs`` skips and reports a pack that is broken or repeats a code or name; ``has_packs``: whether any exists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from ncuview.base.errors import PluginError, RuleFileError
from ncuview.base.system import installed, leave_out, used

GROUP = "ncuview.rules"

_Rule = TypeVar("_Rule", bound=Any)


def has_packs() -> bool:
    """Whether a package adds rules, so that more metrics may be needed than for the shipped rules."""
    return bool(installed(GROUP))


def pack_folders() -> tuple[tuple[str, Path], ...]:
    """The packages' entry points and their folders of rules.

    Raises:
        PluginError: A pack cannot be loaded.
    """
    return tuple((f"{entry.name} = {entry.value}", used(entry, _folder)) for entry in installed(GROUP))


def with_packs(
    rules: tuple[_Rule, ...], rules_below: Callable[[Iterable[Path]], tuple[_Rule, ...]]
) -> tuple[_Rule, ...]:
    """The rules and those of installed packs, sorted by code.

    Args:
        rules: The rules that are loaded already; their codes and names are taken.
        rules_below: Loads the rules of folders.
    """
    loaded = rules
    for entry in installed(GROUP):
        taken = loaded

        def of_pack(given: object, taken: tuple[_Rule, ...] = taken) -> tuple[_Rule, ...]:
            return _apart_from(taken, rules_below([_folder(given)]))

        try:
            loaded = (*loaded, *used(entry, of_pack))
        except PluginError as broken:
            leave_out(str(broken), broken.hint)
    return loaded if loaded is rules else tuple(sorted(loaded, key=lambda rule: str(rule.text.code)))


def _folder(given: object) -> Path:
    """The folder that a path, or a function without arguments, gives."""
    path = given() if callable(given) else given
    if not isinstance(path, str | PathLike):
        raise TypeError(f"gives {path!r}, which is not a folder")
    return Path(path)


def _apart_from(taken: Iterable[_Rule], found: tuple[_Rule, ...]) -> tuple[_Rule, ...]:
    known = {word: rule.path for rule in taken for word in (rule.text.code, rule.text.name)}
    for rule in found:
        for word in (rule.text.code, rule.text.name):
            if word in known:
                raise RuleFileError(f"{rule.path}: {word!r} is taken by {known[word]}")
    return found
