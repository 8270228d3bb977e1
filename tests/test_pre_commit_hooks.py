"""The hooks for pre-commit, run as it runs them: the entry, its args, and the files that match."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from ncuview.base.paths import shipped

ROOT = Path(__file__).resolve().parents[1]
HOOKS = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
RULE = shipped("rules") / "shared_memory" / "SMEM001-shared-bank-conflict.toml"

GOOD = '[[budget]]\nkernel = "*"\nmetric = "shared_bank_conflict_ways"\nmax = 1\n'


def run(hook: dict[str, Any], folder: Path, *files: str) -> subprocess.CompletedProcess[str]:
    """What pre-commit does with the files of a commit: those that match are the last words of the command."""
    matching = [file for file in files if re.search(hook["files"], file)]
    assert matching, "pre-commit would not run the hook"
    program, *words = shlex.split(hook["entry"])
    assert program == "ncuview"
    named = matching if hook.get("pass_filenames", True) else []
    return subprocess.run(
        [sys.executable, "-m", "ncuview", *words, *hook.get("args", []), *named],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_each_hook_says_what_pre_commit_asks_for() -> None:
    assert HOOKS.keys() == {"ncuview-budget", "ncuview-rules"}
    for hook in HOOKS.values():
        assert {"id", "name", "description", "entry", "language", "files"} <= hook.keys()
        assert hook["language"] == "python"


def test_good_budgets_pass_and_a_broken_one_is_named(tmp_path: Path) -> None:
    (tmp_path / "ci").mkdir()
    (tmp_path / "ci" / "budget.toml").write_text(GOOD)
    (tmp_path / "gemm-budget.toml").write_text(GOOD)
    hook = HOOKS["ncuview-budget"]
    assert run(hook, tmp_path, "ci/budget.toml", "gemm-budget.toml", "README.md").returncode == 0
    (tmp_path / "gemm-budget.toml").write_text(GOOD.replace("max", "maximum"))
    done = run(hook, tmp_path, "ci/budget.toml", "gemm-budget.toml")
    assert done.returncode == 2
    assert "gemm-budget.toml" in done.stderr
    assert "maximum" in done.stderr


@pytest.mark.parametrize(
    ("file", "matches"),
    [
        ("budget.toml", True),
        ("ci/kernel_budgets.toml", True),
        ("pyproject.toml", False),
        ("budget.json", False),
        ("budget/rules.toml", False),
    ],
)
def test_budgets_are_recognised_by_their_name(file: str, matches: bool) -> None:
    assert bool(re.search(HOOKS["ncuview-budget"]["files"], file)) == matches


def test_good_rules_pass_and_a_broken_one_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "rules" / "shared_memory"
    folder.mkdir(parents=True)
    copy = Path(shutil.copy(RULE, folder))
    shutil.copy(shipped("rules") / "documents.toml", tmp_path / "rules")
    hook = HOOKS["ncuview-rules"]
    done = run(hook, tmp_path, "rules/shared_memory/SMEM001-shared-bank-conflict.toml")
    assert done.returncode == 0, done.stderr
    assert "examples hold" in done.stdout
    copy.write_text(copy.read_text().replace('optimization = "', 'optimization = "no_such_'))
    done = run(hook, tmp_path, "rules/shared_memory/SMEM001-shared-bank-conflict.toml")
    assert done.returncode == 2
    assert "shared-bank-conflict.toml" in done.stderr
