"""A package as pip leaves it: a module, rules and the metadata with its entry points."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from ncuview.base.paths import shipped

RULE = next(iter(sorted(shipped("rules").glob("*/*.toml"))))
"""The shipped rule that toy rules are copies of."""


def install(folder: Path, name: str, code: str, entry_points: Mapping[str, Mapping[str, str]]) -> Path:
    """A package ``name`` 1.0 of one module in a folder, which belongs on ``sys.path``.

    Args:
        folder: Where packages lie.
        name: Of the package and its module.
        code: What the module holds.
        entry_points: Group -> name of the entry point -> object.
    """
    about = folder / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (folder / f"{name}.py").write_text(code)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    groups = (
        f"[{group}]\n" + "".join(f"{entry} = {of}\n" for entry, of in entries.items())
        for group, entries in entry_points.items()
    )
    (about / "entry_points.txt").write_text("\n".join(groups))
    return folder


def add_rule(folder: Path, number: int = 901, name: str = "toy-rule") -> str:
    """A rule below a folder, a copy of a shipped one; its code."""
    text = RULE.read_text(encoding="utf-8")
    (was,) = re.findall(r'(?m)^code = "([A-Z]+)\d+"', text)
    code = f"{was}{number}"
    text = re.sub(r'(?m)^code = ".*"', f'code = "{code}"', text)
    text = re.sub(r'(?m)^name = ".*"', f'name = "{name}"', text, count=1)
    topic = folder / RULE.parent.name
    topic.mkdir(parents=True, exist_ok=True)
    (topic / f"{code}-{name}.toml").write_text(text, encoding="utf-8")
    return code
