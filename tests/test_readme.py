"""The README agrees with the program."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

README = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
WIDTH = "118"


def ncuview(*arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "ncuview", *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "COLUMNS": WIDTH},
    ).stdout


def test_the_page_shown_is_the_page_printed() -> None:
    shown = README.split("$ ncuview analyze transposeCoalesced\n")[1].split("  ...\n")[0].splitlines()
    printed = ncuview("analyze", "transposeCoalesced", "--recorded").splitlines()
    # The first line differs: it says why the profile is a recorded one.
    body = printed[printed.index("") :]
    assert shown[shown.index("") :] == body[: len(shown) - shown.index("")]


def test_every_command_of_the_table_exists() -> None:
    known = ncuview("--help")
    for command in set(re.findall(r"`ncuview (\w+)", README)):
        assert re.search(rf"^  {command}\b", known, re.MULTILINE), command


def test_the_exit_codes_are_those_of_the_errors() -> None:
    from ncuview.base import errors

    sentence = README.split("Exit codes:")[1].split("\n\n")[0]
    said = {int(number) for number in re.findall(r"\b(\d+)(?=[ /])", sentence)}
    classes = (errors.UsageError, errors.ReportError, errors.ToolError, errors.ProgramError, errors.NcuviewError)
    assert {error.exit_code for error in classes} <= said
