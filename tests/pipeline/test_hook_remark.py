"""The answer names the ranges that ncuview switched on in a program of PyTorch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncuview.pipeline.examine import examine_program
from ncuview.profiling.job import Profiled
from ncuview.profiling.ncu import NcuRun
from ncuview.profiling.options import NcuOptions
from ncuview.records.profile import Profile
from tests.programs.test_of_profile import trained


@pytest.mark.parametrize(
    ("ranges", "hooked", "named"),
    [(None, True, True), ({}, True, False), ({0: ("a step of the user",)}, True, False), (None, False, False)],
)
def test_the_remark_names_the_hook_where_it_named_operators(
    monkeypatch: pytest.MonkeyPatch, ranges: dict[int, tuple[str, ...]] | None, hooked: bool, named: bool
) -> None:
    found = trained() if ranges is None else replace(trained(), nvtx_ranges=ranges)

    def played(*_: object, **__: object) -> tuple[Profile, Profiled]:
        return found, Profiled((), NcuOptions(), NcuRun(0, "", "", 5, ()), hooked=hooked)

    monkeypatch.setattr("ncuview.pipeline.profiled.profile_program", played)
    assert ("--no-hook" in examine_program(["python", "train.py"]).diagnosis.remark) is named
