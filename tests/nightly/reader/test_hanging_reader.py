"""A report at which NVIDIA's reader hangs is named; reports that share its process are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.base.errors import ReportUnreadable
from ncuview.reader import child
from ncuview.reader.reader import read_each
from tests.profiles import profile_of
from tests.reader.harmed import SMALL, harm, noted, same


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("time.sleep(60)", "the report took NVIDIA's reader more than 6 s"),
        (
            "while True: native._say('x\\n'); sum(range(10**6))",
            "the report took NVIDIA's reader more than 7 s of processor",
        ),
    ],
)
def test_a_report_that_hangs_the_reader_is_named_and_the_others_are_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, does: str, said: str
) -> None:
    reports = SMALL[:3]
    expected = [profile_of(path) for path in reports]
    monkeypatch.setattr(child, "LEAST_S", 6.0)
    monkeypatch.setattr(child, "S_PER_MB", 0.01)
    harm(monkeypatch, tmp_path, reports[1], does)
    processes = noted(monkeypatch)
    first, second, third = read_each(reports)
    same(first, expected[0], reports[0])
    same(third, expected[2], reports[2])
    assert isinstance(second, ReportUnreadable)
    assert said in str(second)
    assert processes == [3, 1, 1, 1]
