"""The instructions of each launch, as split from a profile's DataFrame."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ncuview.metrics.instruction_table import executed_by_launch
from tests.builders import COPY, FILE, WARPS, Instruction, Launch, load, make_profile

SHORT = (load(4, line=7), Instruction("EXIT", 9))


def test_each_launch_has_its_own_instructions() -> None:
    executed = executed_by_launch(make_profile(Launch(), Launch(instructions=SHORT)))
    assert {launch: len(each) for launch, each in executed.items()} == {0: len(COPY), 1: len(SHORT)}
    assert executed[1].addresses.tolist() == [0, 16]
    assert executed[1].lines.tolist() == [7, 9]
    assert executed[1].files == [FILE, FILE]
    assert executed[1].code.texts == tuple(each.sass for each in SHORT)
    assert executed[1]["inst_executed"].tolist() == [WARPS, WARPS]


def test_a_launch_without_instructions_is_missing() -> None:
    assert list(executed_by_launch(make_profile(Launch(instructions=[]), Launch(instructions=SHORT)))) == [1]
    assert not executed_by_launch(make_profile(Launch(instructions=[])))


def test_a_metric_that_one_launch_misses_is_nan_there_and_a_column_of_the_profile() -> None:
    more = Instruction("EXIT", metrics={"more": 3.0})
    first, second = executed_by_launch(make_profile(Launch(instructions=SHORT), Launch(instructions=[more]))).values()
    assert "more" in first
    assert "nothing" not in first
    assert np.isnan(first["more"]).all()
    assert second["more"].tolist() == [3.0]


def test_launches_of_the_same_code_share_it_and_its_numbers_are_not_copied() -> None:
    profile = make_profile(Launch(instructions=SHORT), Launch(instructions=SHORT))
    first, second = executed_by_launch(profile).values()
    assert first.code is second.code
    assert np.shares_memory(first["inst_executed"], profile.instructions["inst_executed"].to_numpy())


def test_a_table_that_is_not_in_the_order_of_the_launches_is_sorted_and_keeps_each_launchs_order() -> None:
    ordered = make_profile(Launch(), Launch(instructions=SHORT))
    mixed = replace(ordered, instructions=ordered.instructions.iloc[::-1].reset_index(drop=True))
    for launch, each in executed_by_launch(mixed).items():
        expected = executed_by_launch(ordered)[launch]
        assert each.addresses.tolist() == expected.addresses.tolist()[::-1]
        assert each.code.texts == expected.code.texts[::-1]
