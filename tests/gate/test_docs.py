"""The page about budgets shows budgets that can be read, and defaults that are the program's."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ncuview.gate.budget import BaselineLimits, Budget, read_budget

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "how-to" / "baselines-and-budgets.md").read_text(
    encoding="utf-8"
)
BLOCKS = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def read(folder: Path, block: str) -> Budget:
    path = folder / ("pyproject.toml" if block.startswith("# pyproject.toml") else "budgets.toml")
    path.write_text(block, encoding="utf-8")
    return read_budget(path)


@pytest.mark.parametrize("block", BLOCKS, ids=["the first", "a budget file", "pyproject.toml"])
def test_budgets_of_the_page_can_be_read(tmp_path: Path, block: str) -> None:
    assert read(tmp_path, block).entries


def test_the_defaults_of_the_page_are_those_of_the_program(tmp_path: Path) -> None:
    assert read(tmp_path, BLOCKS[1]).baseline == BaselineLimits()
