"""Questions to small stores, whose answers are known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ncuview import store
from ncuview.base.errors import UnknownKernel
from ncuview.store import questions
from ncuview.store.answer import Answer, AnswerTable, Settings
from ncuview.store.questions import SPLIT
from tests.store.small_store import SmallStore

USUAL = Settings("base", "all", "kernel")
UNLOCKED = Settings("none", "all", "kernel")


@pytest.fixture
def small(tmp_path: Path) -> SmallStore:
    return SmallStore(tmp_path / "store")


def ask(small: SmallStore, question: Any, *arguments: Any, limit: int = 0) -> Answer:
    with store.open(small.name) as opened:
        answer = question(opened, *arguments, limit)
    assert isinstance(answer, Answer)
    return answer


def rows(answer: Answer, title: str = "", settings: Settings = USUAL) -> list[dict[str, Any]]:
    """The rows of the only table of a title and settings, as dictionaries."""
    found = [table for table in answer.tables if table.settings == settings and title in table.title]
    assert len(found) == 1, [(table.title, table.settings) for table in answer.tables]
    return [dict(zip(found[0].columns, row, strict=True)) for row in found[0].rows]


def test_top_kernels_are_those_of_most_time(small: SmallStore) -> None:
    small.add({"duration_ns": 100.0}, {"duration_ns": 200.0}, {"function": "n::other", "duration_ns": 700.0})
    found = rows(ask(small, questions.top), "kernels")
    assert [(row["name"], row["launches"], row["time_ns"], row["share"]) for row in found] == [
        ("n::other<float>", 1, 700.0, 0.7),
        ("n::k<float>", 2, 300.0, 0.3),
    ]


def test_instantiations_of_a_template_are_kernels_of_their_own(small: SmallStore) -> None:
    small.add({}, {"template_arguments": "<double>"}, {"template_arguments": None})
    names = {row["name"] for row in rows(ask(small, questions.top), "kernels")}
    assert names == {"n::k<float>", "n::k<double>", "n::k"}


def test_top_names_the_advice_that_saves_most(small: SmallStore) -> None:
    advised = {"rule": "MEM001", "optimization": "coalesce", "saved_ns": 300.0}
    small.add(
        advised,
        {**advised, "function": "n::other", "saved_ns": 500.0},
        {"rule": "SMEM001", "optimization": "pad", "saved_ns": 100.0},
        findings=[{"launch": None, "rule": "PROG003", "optimization": "fuse", "saved_ns": 900.0, "file": "train.py"}],
    )
    found = rows(ask(small, questions.top), "advice")
    assert [(row["rule"], row["about"], row["findings"], row["saved_ns"], row["most_in"]) for row in found] == [
        ("PROG003", "program", 1, 900.0, "train.py"),
        ("MEM001", "kernel", 2, 800.0, "n::other"),
        ("SMEM001", "kernel", 1, 100.0, "n::k"),
    ]


def test_findings_of_launches_and_rejected_ones_do_not_count_twice(small: SmallStore) -> None:
    rejected = {"launch": None, "rule": "PROG003", "rank": 0, "saved_ns": 1.0}
    small.add(
        {"rule": "MEM001", "saved_ns": 3.0}, findings=[{"launch": 0, "rule": "MEM001", "saved_ns": 3.0}, rejected]
    )
    assert [row["saved_ns"] for row in rows(ask(small, questions.top), "advice")] == [3.0]


def test_top_calls_sum_over_reports(small: SmallStore) -> None:
    line = {"call": 0, "file": "train.py", "line": 7, "function": "step", "launches": 2, "time_ns": 30.0}
    small.add({}, calls=[line, {**line, "call": 1, "line": 9, "time_ns": 10.0}])
    small.add({}, calls=[{**line, "time_ns": 20.0}])
    found = rows(ask(small, questions.top), "calls")
    assert [(row["line"], row["launches"], row["time_ns"]) for row in found] == [(7, 4, 50.0), (9, 2, 10.0)]


def test_settings_never_meet_in_one_answer(small: SmallStore) -> None:
    small.add({"duration_ns": 100.0}, {"duration_ns": 100.0})
    small.add({"duration_ns": 900.0}, clock_control="none")
    small.add({"duration_ns": 5.0}, clock_control=None)
    answer = ask(small, questions.top)
    assert SPLIT in answer.notes
    for settings, time in ((USUAL, 200.0), (UNLOCKED, 900.0), (Settings(None, "all", "kernel"), 5.0)):
        (row,) = rows(answer, "kernels", settings)
        assert (row["time_ns"], row["share"]) == (time, 1.0)


def test_one_setting_needs_no_note(small: SmallStore) -> None:
    small.add({})
    assert ask(small, questions.top).notes == ()


def test_a_limit_says_how_much_it_cuts(small: SmallStore) -> None:
    small.add(*({"function": f"n::k{at}", "duration_ns": 10.0 + at} for at in range(5)))
    table: AnswerTable = ask(small, questions.top, limit=2).tables[0]
    assert ([row[0] for row in table.rows], table.left_out) == (["n::k4<float>", "n::k3<float>"], 3)


def test_gpu_models_are_compared_where_kernel_and_configuration_agree(small: SmallStore) -> None:
    slower = {"gpu": "NVIDIA H100", "duration_ns": 3_000.0}
    small.add({}, {"duration_ns": 2_000.0}, {"duration_ns": 2_000.0}, {"grid_x": 1})
    small.add(slower, gpu="NVIDIA H100")
    small.add({"function": "n::only_here"}, clock_control="none")
    found = rows(ask(small, questions.compare, "gpu", None))
    assert [(row["gpu"], row["grid"], row["time_ns"], row["ratio"]) for row in found] == [
        ("NVIDIA H100", "64x1x1", 3_000.0, 1.5),
        ("NVIDIA H200", "64x1x1", 2_000.0, 1.0),
    ]


def test_gpu_models_under_other_settings_are_not_compared(small: SmallStore) -> None:
    small.add({})
    small.add({"gpu": "NVIDIA H100"}, gpu="NVIDIA H100", cache_control="none")
    assert ask(small, questions.compare, "gpu", None).tables == ()


def test_shapes_are_compared_on_one_gpu(small: SmallStore) -> None:
    small.add({}, {"grid_x": 128, "duration_ns": 1_500.0}, {"gpu": "NVIDIA H100", "grid_x": 256, "duration_ns": 1.0})
    found = rows(ask(small, questions.compare, "shape", "k"))
    assert [(row["grid"], row["ratio"], row["ns_per_block"]) for row in found] == [
        ("64x1x1", 1.0, 1_000 / 64),
        ("128x1x1", 1.5, 1_500 / 128),
    ]


def test_ranks_are_compared_with_their_median(small: SmallStore) -> None:
    for rank, time in (("rank 0", 1_000.0), ("rank 1", 1_000.0), ("rank 2", 4_000.0)):
        small.add({"duration_ns": time}, rank=rank)
    small.add({"duration_ns": 9.0})
    found = rows(ask(small, questions.compare, "rank", None))
    assert {row["rank"]: row["ratio"] for row in found} == {"rank 0": 1.0, "rank 1": 1.0, "rank 2": 4.0}


def test_launches_that_wait_for_peers_have_no_time(small: SmallStore) -> None:
    small.add({}, {"gpu": "NVIDIA H100", "waits_for_peers": True})
    assert ask(small, questions.compare, "gpu", None).tables == ()


def test_one_kernel_is_compared_by_any_of_its_names(small: SmallStore) -> None:
    small.add({}, {"gpu": "NVIDIA H100"}, {"function": "m::k"}, {"function": "m::k", "gpu": "NVIDIA H100"})
    assert len(rows(ask(small, questions.compare, "gpu", "k"))) == 4
    for name in ("n::k", "n::k<float>"):
        assert {row["name"] for row in rows(ask(small, questions.compare, "gpu", name))} == {"n::k<float>"}


def test_an_unknown_kernel_is_an_error_with_a_suggestion(small: SmallStore) -> None:
    small.add({"kernel": "transpose"})
    with pytest.raises(UnknownKernel, match="transpse") as caught:
        ask(small, questions.compare, "gpu", "transpse")
    assert "transpose" in caught.value.hint


def test_an_outlier_is_far_from_its_kernels_others(small: SmallStore) -> None:
    usual = [{"duration_ns": 1_000.0 + at} for at in range(20)]
    report = small.add(*usual, {"duration_ns": 5_000.0}, {"duration_ns": 1_100.0})
    (row,) = rows(ask(small, questions.outliers))
    assert (row["time_ns"], row["report"], row["launch"], row["of_launches"]) == (5_000.0, report, 20, 22)
    assert row["usual_ns"] == pytest.approx(1_010, rel=0.01)
    assert row["ratio"] == pytest.approx(4.95, rel=0.01)


def test_a_launch_that_is_far_too_fast_is_an_outlier(small: SmallStore) -> None:
    small.add(*[{}] * 20, {"duration_ns": 10.0})
    assert [row["time_ns"] for row in rows(ask(small, questions.outliers))] == [10.0]


@pytest.mark.parametrize("number", [1, 2, 3, 5])
def test_equal_outliers_are_found_in_all_of_their_reports(small: SmallStore, number: int) -> None:
    for _ in range(20):
        small.add(*[{}] * 3)
    far = [small.add({}, {"duration_ns": 5_000.0}) for _ in range(number)]
    small.add({}, {"duration_ns": 9_000.0})
    found = rows(ask(small, questions.outliers))
    assert [(row["report"], row["launch"]) for row in found if row["time_ns"] == 5_000.0] == [
        (each, 1) for each in sorted(far)
    ]
    assert len(found) == number + 1


@pytest.mark.parametrize(
    "different", [{"grid_x": 1}, {"code": 7}, {"clock_control": "none"}, {"gpu": "NVIDIA H100"}, {"function": "n::o"}]
)
def test_other_launches_are_no_outliers(small: SmallStore, different: dict[str, Any]) -> None:
    small.add(*[{}] * 20, *[{"duration_ns": 5_000.0, **different}] * 20)
    assert ask(small, questions.outliers).tables == ()


def test_few_launches_have_no_outliers(small: SmallStore) -> None:
    small.add(*[{}] * 6, {"duration_ns": 5_000.0})
    assert ask(small, questions.outliers).tables == ()


def test_kernels_that_were_never_judged_are_unprofiled(small: SmallStore) -> None:
    small.add(
        {"duration_ns": 100.0},
        {"function": "n::timed", "verdict": "not-judged", "attained": None, "duration_ns": 200.0},
        {"function": "n::half", "verdict": "not-judged", "attained": 0.5, "duration_ns": 700.0},
        {"function": "v::gemm", "verdict": "not-yours", "attained": 0.5},
    )
    found = rows(ask(small, questions.unprofiled))
    assert [(row["name"], row["why"], row["time_ns"], row["share"]) for row in found] == [
        ("n::half<float>", "not judged", 700.0, 0.35),
        ("n::timed<float>", "no counters", 200.0, 0.1),
    ]


def test_a_kernel_that_was_judged_once_is_profiled_on_that_gpu(small: SmallStore) -> None:
    unknown = {"verdict": "not-judged", "attained": None}
    small.add({}, unknown, {**unknown, "gpu": "NVIDIA H100"})
    small.add(unknown, clock_control="none")
    (table,) = ask(small, questions.unprofiled).tables
    assert [row[table.columns.index("gpu")] for row in table.rows] == ["NVIDIA H100"]


def test_reports_of_which_a_part_is_missing_are_listed(small: SmallStore) -> None:
    small.add({})
    report = small.add({}, damage="the file ends early")
    (table,) = ask(small, questions.unprofiled).tables
    assert (table.settings, table.rows) == (None, ((f"r{report}.ncu-rep", "the file ends early"),))
