"""The tiny kernel that --live profiles."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pytest

from ncuview.base.errors import CompilerNotFound, LauncherNotFound, NcuRefused, ToolError
from ncuview.doctor import live
from ncuview.doctor.live import ONE_PASS, SEVERAL_PASSES, live_checks
from ncuview.doctor.verdict import Verdict
from ncuview.profiling.ncu_output import Progress

PASSES = {ONE_PASS: 1, SEVERAL_PASSES: 2}


def play(
    monkeypatch: pytest.MonkeyPatch,
    *,
    passes: dict[tuple[str, ...], int] | None = None,
    values: dict[str, list[float]] | None = None,
    error: Exception | None = None,
) -> None:
    """Let ncu take so many passes and give these values."""

    def profile_live(
        launches: Sequence[Any], metrics: Sequence[str], folder: Path, progress: Callable[[Progress], object]
    ) -> Path:
        assert [launch.kernel.name for launch in launches] == ["emptyKernel"]
        assert not list(folder.iterdir())
        if error:
            raise error
        progress(Progress("emptyKernel", 0, None, 0.1))
        progress(Progress("emptyKernel", 0, (passes or PASSES)[tuple(metrics)], 0.2))
        return folder / "profile.ncu-rep"

    def read(paths: Sequence[Path], *, instructions: bool) -> Any:
        assert [path.name for path in paths] == ["profile.ncu-rep"]
        return SimpleNamespace(metrics=pd.DataFrame(values or {name: [1.0] for name in SEVERAL_PASSES}))

    monkeypatch.setattr(live, "profile_live", profile_live)
    monkeypatch.setattr(live, "read", read)


def test_both_runs_succeed(monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch)
    heard: list[Progress] = []
    found = live_checks(heard.append)
    assert [each.verdict.status for each in found] == ["OK", "OK"]
    assert [each.verdict.message for each in found] == ["profiled in 1 pass", "profiled in 2 passes"]
    assert len(heard) == 4


def test_a_refusal_keeps_its_id_and_its_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, error=NcuRefused("only administrators", hint="ask one", id="NCU-PERM"))
    for each in live_checks():
        assert (each.verdict.status, each.verdict.message, each.verdict.fix) == (
            "FAIL",
            "only administrators",
            "ask one",
        )
        assert each.ids == ("NCU-PERM",)


@pytest.mark.parametrize(
    "error", [CompilerNotFound("no nvcc", hint="Get it."), LauncherNotFound("no PyCUDA", hint="Get it.")]
)
def test_without_a_kernel_to_launch_nothing_is_known(monkeypatch: pytest.MonkeyPatch, error: ToolError) -> None:
    play(monkeypatch, error=error)
    for each in live_checks():
        assert each.verdict == Verdict("UNKNOWN", f"it could not be tried: {error}", fix="Get it.")
        assert each.ids == (error.id,)


def test_a_bug_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, error=KeyError("x"))
    assert {each.verdict.status for each in live_checks()} == {"UNKNOWN"}


@pytest.mark.parametrize(
    "values", [{"gpu__time_duration.sum": [1.0]}, {name: [float("nan")] for name in SEVERAL_PASSES}]
)
def test_a_metric_without_value_fails(monkeypatch: pytest.MonkeyPatch, values: dict[str, list[float]]) -> None:
    play(monkeypatch, values=values)
    second = live_checks()[1].verdict
    assert second.status == "FAIL"
    assert "inst_executed" in second.message


def test_one_pass_where_two_were_wanted_is_no_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    play(monkeypatch, passes={ONE_PASS: 1, SEVERAL_PASSES: 1})
    assert [each.verdict.status for each in live_checks()] == ["OK", "UNKNOWN"]
