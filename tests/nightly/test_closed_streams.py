"""Every command with every combination of standard streams that its caller closed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.test_closed_streams import CLOSINGS, COMMANDS, check_closed, folder

__all__ = ["folder"]  # a fixture


@pytest.mark.parametrize("closing", CLOSINGS)
@pytest.mark.parametrize("name", COMMANDS)
def test_the_exit_code_and_the_files_are_as_with_open_streams(folder: Path, name: str, closing: str) -> None:
    check_closed(folder, *COMMANDS[name], closing)
