"""The programs whose calls are judged: their sources, their authors' labels, and what their steps took."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from functools import cache
from math import nan
from pathlib import Path
from typing import Any, Literal

HERE = Path(__file__).resolve().parent
PROGRAMS = HERE / "programs"
TIMES = HERE / "times.json"
GROUPS = {
    "in view": ("q001", "q034"),
    "opened on 2026-11-26": ("q201", "q226"),
    "C++ with libraries": ("q227", "q230"),
}
"""The first and the last program of each set; a set that was held out says since when it is not."""
IN_VIEW = "in view"

Unit = Literal["kernel_ms", "wall_ms"]
"""What of a step is shorter after a change."""


@cache
def sources() -> dict[str, Path]:
    """Program -> its source: ``q003`` -> ``programs/q003_wide_mlp_train.py``."""
    written = sorted(source for source in PROGRAMS.glob("q*") if source.suffix in {".py", ".cu"})
    return {source.name.partition("_")[0]: source for source in written}


def programs_of(group: str) -> list[str]:
    """The programs of a group."""
    first, last = GROUPS[group]
    return [program for program in sources() if first <= program <= last]


def labels_of(source: Path) -> dict[str, dict[str, Any]]:
    """Variant -> what the author says of it, in the author's order."""
    text = source.with_suffix(".toml").read_text(encoding="utf-8")
    return {label["name"]: label for label in tomllib.loads(text)["variant"]}


def texts_of(label: Mapping[str, Any]) -> list[str]:
    """The texts of the lines to change."""
    return [text for text in (label.get("call"), *label.get("calls", [])) if text]


def unit_of(label: Mapping[str, Any]) -> Unit:
    """What the labelled change makes shorter."""
    return "wall_ms" if label.get("saves") == "wall" else "kernel_ms"


def gain(source: Path, before: str, after: str, unit: Unit) -> float:
    """How many times faster a variant is than another; NaN where one was not measured."""
    return took_ms(source, before, unit) / took_ms(source, after, unit)


def took_ms(source: Path, variant: str, unit: Unit) -> float:
    """What a step of a variant took, in ms; NaN where it was not measured."""
    return float(times().get(source.stem, {}).get(variant, {}).get(unit, nan))


@cache
def times() -> dict[str, dict[str, Any]]:
    """Program -> variant -> what its step took."""
    found: dict[str, dict[str, Any]] = json.loads(TIMES.read_text(encoding="utf-8"))
    return found
