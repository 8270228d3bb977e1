"""Gates of some of the launches: what ``-k`` and other options leave out is neither missing nor judged."""

from __future__ import annotations

import pytest

from ncuview.base.errors import NotComparable
from ncuview.gate.baseline import baseline_of
from ncuview.gate.budget import Budget, Entry
from ncuview.gate.chosen import ALL, Chosen
from ncuview.gate.judge import judge
from ncuview.gate.spread import Spreads
from ncuview.gate.verdict import exit_code
from ncuview.pipeline.gates import chosen_by
from ncuview.profiling.options import KernelNameBase, NcuOptions
from ncuview.records.diagnosis import LaunchDiagnosis
from ncuview.records.gate import Gate
from tests.gate.made import diagnosis, launch, profile

COPY, ADD, SCALE = launch("copy"), launch("add"), launch("scale")


def limit(kernel: str) -> Entry:
    return Entry(kernel=kernel, metric="inst_executed", max=2000)


def gate(chosen: Chosen, *entries: Entry, saved: tuple[LaunchDiagnosis, ...] = ()) -> Gate:
    """The gate of a report that holds ``copy`` alone."""
    spreads = Spreads()
    before = ("main", baseline_of(diagnosis(*saved), [], spreads, "0.2.0")) if saved else None
    budget = Budget(name="b.toml", entries=entries)
    return judge(diagnosis(COPY), profile(COPY), budget, before, settings={}, spreads=spreads, chosen=chosen)


def about(found: Gate) -> list[str]:
    return [f"{check.result} {check.kernel}" for check in found.checks if check.subject != "counters"]


def test_kernels_of_the_baseline_that_k_leaves_out_are_not_missing() -> None:
    saved = (COPY, ADD, SCALE)
    assert [each.split("(")[0] for each in about(gate(ALL, saved=saved))] == [
        "passed copy",
        "failed add",
        "failed scale",
    ]
    for name in ("copy", "regex:^c"):
        found = gate(Chosen(name), saved=saved)
        assert about(found) == ["passed copy(float *, int)"]
        assert found.left_out == f"-k {name} leaves out 2 of 3 kernels of the baseline"


def test_a_kernel_that_k_selects_and_is_gone_is_still_missing() -> None:
    found = gate(Chosen("regex:copy|add"), saved=(COPY, ADD, SCALE))
    assert [each.split("(")[0] for each in about(found)] == ["passed copy", "failed add"]
    assert found.left_out == "-k regex:copy|add leaves out 1 of 3 kernels of the baseline"


def test_a_baseline_without_the_chosen_kernel_is_not_compared() -> None:
    with pytest.raises(NotComparable, match="no kernel of the baseline is selected by -k copy"):
        gate(Chosen("copy"), saved=(ADD,))


@pytest.mark.parametrize("left_out", ["add", "add*", "*scale", "a?d", "ns::add<(int)4>(float *)", "[as]*"])
@pytest.mark.parametrize("name", ["copy", "regex:cop"])
def test_entries_about_kernels_that_k_leaves_out_are_not_judged(name: str, left_out: str) -> None:
    found = gate(Chosen(name), limit("copy"), limit(left_out))
    assert (about(found), exit_code(found)) == (["passed copy(float *, int)"], 0)
    assert found.left_out == f"-k {name} leaves out 1 of 2 entries of the budget"


@pytest.mark.parametrize("entry", ["copyAll", "copyAll*", "x::copyAll<4>(int)"])
def test_an_entry_about_a_kernel_that_k_selects_still_needs_a_launch(entry: str) -> None:
    found = gate(Chosen("regex:^copy"), limit("copy"), limit(entry))
    assert exit_code(found) == 3
    assert found.left_out == ""


def test_an_entry_of_another_grid_still_needs_a_launch() -> None:
    entry = Entry(kernel="copy", metric="inst_executed", max=2000, grid=[9])
    assert exit_code(gate(Chosen("copy"), limit("copy"), entry)) == 3


def test_a_gate_of_which_k_leaves_out_everything_is_not_open() -> None:
    found = gate(Chosen("copy"), limit("add"))
    assert exit_code(found) == 3
    assert found.left_out == "-k copy leaves out 1 of 1 entries of the budget"


def test_kernels_without_a_launch_are_counted_where_other_options_chose_launches() -> None:
    found = gate(Chosen(further=("--launch-count",)), limit("add"), saved=(COPY, ADD, SCALE))
    assert found.left_out == (
        "2 kernels of the baseline had no launch among those that --launch-count chose, and were not compared"
    )
    assert [each.split("(")[0] for each in about(found)] == ["passed copy", "not judged add"]
    message = found.checks[-1].message
    assert "there are copy among those that --launch-count chose" in message


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (NcuOptions(), ALL),
        (NcuOptions(kernel_name="copy"), Chosen("copy")),
        (NcuOptions(kernel_name="copy", launch_count=3), Chosen("copy", further=("--launch-count",))),
        (
            NcuOptions(kernel_name="regex:copy<", kernel_name_base=KernelNameBase.DEMANGLED),
            Chosen("regex:copy<", by_demangled=True),
        ),
        (
            NcuOptions(kernel_name="_Z4copy", kernel_name_base=KernelNameBase.MANGLED),
            Chosen(further=("--kernel-name",)),
        ),
        (NcuOptions(kernel_name="regex:(?=copy)"), Chosen(further=("--kernel-name",))),
    ],
)
def test_the_launches_that_options_of_a_program_choose(options: NcuOptions, chosen: Chosen) -> None:
    assert chosen_by(options, of_program=True) == chosen


def test_demangled_names_are_compared_where_ncu_compares_them() -> None:
    chosen = Chosen("regex:^copy\\(", by_demangled=True)
    found = gate(chosen, limit("copy"), limit("add(float *, int)"), saved=(COPY, ADD))
    assert about(found) == ["passed copy(float *, int)", "passed copy(float *, int)"]
    assert found.left_out.startswith(f"-k {chosen.kernel_name} leaves out 1 of 2 kernels of the baseline and 1 of 2 ")
