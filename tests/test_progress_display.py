"""ncu's progress on a stream that is no terminal: enough to see that it goes on, and not a line for each launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncuview.cli.printing import ProgressDisplay
from ncuview.profiling.ncu_output import Progress

if TYPE_CHECKING:
    import pytest


def lines_of(launches: int, each_s: float, capsys: pytest.CaptureFixture[str]) -> list[str]:
    with ProgressDisplay() as progress:
        for index in range(launches):
            progress.show(Progress("copy", index, None, index * each_s))
            progress.show(Progress("copy", index, 1 + index % 2, index * each_s + 0.01))
    return capsys.readouterr().err.splitlines()


def test_a_log_gets_the_first_launch_and_then_a_line_in_some_seconds(capsys: pytest.CaptureFixture[str]) -> None:
    lines = lines_of(1_000, 0.05, capsys)
    assert lines[0] == "ncu: 1 copy, 1 pass, 10 ms"
    assert 5 <= len(lines) <= 20
    assert lines[-1].startswith("ncu: 9")


def test_slow_launches_get_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert lines_of(3, 60.0, capsys) == [
        "ncu: 1 copy, 1 pass, 10 ms",
        "ncu: 2 copy, 2 passes, 60 s",
        "ncu: 3 copy, 1 pass, 120 s",
    ]


def test_a_second_run_begins_with_its_first_launch(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as progress:
        for run in range(2):
            for index in range(3):
                progress.show(Progress(f"run{run}", index, 1, index * 0.1))
    assert [line.split(",")[0] for line in capsys.readouterr().err.splitlines()] == ["ncu: 1 run0", "ncu: 1 run1"]


def test_a_name_with_all_its_template_arguments_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as progress:
        progress.show(Progress(f"void scale<{'float, ' * 100}int>(float *)", 0, 1, 0.1))
    assert capsys.readouterr().err == f"ncu: 1 void scale<{'float, ' * 100}"[:64] + "..., 1 pass, 100 ms\n"
