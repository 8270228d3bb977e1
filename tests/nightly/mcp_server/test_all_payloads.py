"""Each hostile text as an argument of each tool, and as the name of a file."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.hostile import PAYLOADS
from tests.mcp_server.client import served
from tests.mcp_server.test_hostile import KERNELS, check_arguments, check_file_names

pytestmark = pytest.mark.skipif("CI" in os.environ, reason="minutes; the suite has a tenth of them")


def test_each_hostile_argument_is_an_error_or_an_answer_and_never_more(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        check_arguments(client, PAYLOADS)


def test_each_hostile_name_of_a_file_is_shown_safely(tmp_path: Path) -> None:
    with served(tmp_path) as client:
        check_file_names(client, KERNELS)
