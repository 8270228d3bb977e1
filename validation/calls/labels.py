"""The programs whose calls are judged, and their authors' labels."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"


@cache
def sources() -> dict[str, Path]:
    """Program -> its source: ``q003`` -> ``programs/q003_wide_mlp_train.py``."""
    return {source.name.partition("_")[0]: source for source in sorted(PROGRAMS.glob("q*.py"))}


def labels_of(source: Path) -> dict[str, dict[str, Any]]:
    """Variant -> what the author says of it, in the author's order."""
    text = source.with_suffix(".toml").read_text(encoding="utf-8")
    return {label["name"]: label for label in tomllib.loads(text)["variant"]}
