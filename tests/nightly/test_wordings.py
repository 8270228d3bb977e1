"""Every wording of every failure of ncu, and every long argument."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.base.test_texts import LONG, check_masked
from tests.profiling.failure_cases import CATALOGUE, IDS, Case
from tests.profiling.test_failure_catalogue import check_failure
from tests.profiling.test_ncu import FakeNcu


@pytest.mark.parametrize("case", CATALOGUE, ids=IDS)
def test_every_failure_is_named_whatever_its_wording(
    tmp_path: Path, case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_failure(FakeNcu(tmp_path), case, monkeypatch)


@pytest.mark.parametrize(("beginning", "part", "end"), LONG)
def test_a_long_argument_is_masked(beginning: str, part: str, end: str) -> None:
    check_masked(beginning, part, end)
