"""Launches of a backward pass name the forward line with the number that PyTorch's ranges give both."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from ncuview.programs.forward import forward_frames
from ncuview.records.profile import Frame
from ncuview.records.program import Call

EVALUATES = "autograd::engine::evaluate_function: "
Step = tuple[int | None, tuple[str, ...]]
"""The line of a launch, None in a backward pass, and its ranges."""


def forward(line: int, *operators: str) -> Step:
    return line, tuple(f"aten::{operator}, op_id = {number}" for number, operator in enumerate(operators, 1))


def backward(node: str, number: int, *inner: str) -> Step:
    return None, (
        f"{EVALUATES}{node}, op_id = 80",
        f"{node}, seq = {number}, op_id = 81",
        *inner,
    )


def lines(*steps: Step, runs: Sequence[Sequence[int]] | None = None) -> dict[int, int]:
    """Launch -> the line that was found for it."""
    calls = [Call("train.py", line, "step") if line else Call("", 0, "", backward="Engine") for line, _ in steps]
    ranges = {launch: names for launch, (_, names) in enumerate(steps) if names}
    found = forward_frames(calls, ranges, runs or [range(len(steps))])
    assert all(frame == Frame("step", "train.py", frame.line) for frame in found.values())
    return {launch: frame.line for launch, frame in found.items()}


def test_a_node_has_the_line_of_its_operator() -> None:
    steps = forward(5, "mul, seq = 12"), forward(6, "sum, seq = 13"), backward("SumBackward0", 13)
    assert lines(*steps, backward("MulBackward0", 12, "aten::mul, op_id = 40")) == {2: 6, 3: 5}


def test_the_innermost_number_of_a_composed_operator_is_the_node_s() -> None:
    linear = forward(5, "linear, seq = 7", "addmm, seq = 8", "copy_")
    assert lines(linear, forward(6, "relu, seq = 9"), backward("AddmmBackward0", 8)) == {2: 5}


def test_of_operators_with_one_number_the_one_of_the_node_s_name_counts() -> None:
    """Operators on tensors without gradients take the number that the next node gets."""
    steps = forward(4, "mul, seq = 12"), forward(5, "_softmax, seq = 12"), forward(6, "arange, seq = 12")
    assert lines(*steps, backward("SoftmaxBackward0", 12)) == {3: 5}


def test_a_node_whose_operator_launched_nothing_has_the_line_of_both_its_neighbours() -> None:
    """A view follows its producer or precedes its consumer: which of the two lines it is, ranges do not show."""
    one_line = forward(5, "mul, seq = 12"), forward(5, "sum, seq = 15")
    assert lines(*one_line, backward("ExpandBackward0", 14)) == {2: 5}
    assert lines(*one_line, backward("ExpandBackward0", 40)) == {}
    assert lines(*one_line, backward("ExpandBackward0", 11)) == {}
    assert lines(one_line[0], forward(6, "sum, seq = 15"), backward("ExpandBackward0", 14)) == {}


def test_sums_of_gradients_have_the_line_of_the_node_that_was_evaluated() -> None:
    node, reduced = (
        backward("AddmmBackward0", 8),
        (None, (f"{EVALUATES}AddmmBackward0, op_id = 80", "aten::sum, op_id = 90")),
    )
    other = (None, (f"{EVALUATES}AddmmBackward0, op_id = 99", "aten::sum, op_id = 100"))
    assert lines(forward(5, "addmm, seq = 8"), node, reduced, other) == {1: 5, 2: 5}


def after_node(node: str, op_id: int = 70) -> Step:
    """A launch in the evaluation of a node that launches nothing itself: the sum or cast of its gradient."""
    return None, (f"{EVALUATES}{node}, op_id = {op_id}", "aten::sum, op_id = 90")


def test_a_node_without_a_number_is_the_operator_of_its_name_between_the_nodes_around_it() -> None:
    """Nodes are evaluated by falling numbers."""
    steps = forward(4, "div, seq = 11"), forward(5, "add, seq = 12"), forward(6, "relu, seq = 14")
    adds = after_node("AddBackward0"), after_node("AddBackward0")
    passes = backward("ReluBackward0", 14), *adds, backward("DivBackward0", 11)
    assert lines(*steps, *passes) == {3: 6, 4: 5, 5: 5, 6: 4}
    assert lines(*steps, *reversed(passes)) == {3: 4, 6: 6}
    assert lines(*steps, *passes[:-1]) == {3: 6}
    assert lines(*steps, *passes[1:]) == {5: 4}


def test_a_node_without_a_number_has_no_line_where_several_fit() -> None:
    steps = forward(4, "add, seq = 11"), forward(5, "add, seq = 12"), forward(6, "relu, seq = 14")
    ends = forward(6, "mul, seq = 10"), backward("ReluBackward0", 14), after_node("AddBackward0")
    assert lines(*steps, *ends, backward("MulBackward0", 10)) == {4: 6, 6: 6}


def test_a_node_whose_number_and_operator_are_unknown_has_the_line_of_both_nodes_around_it() -> None:
    between = backward("SumBackward0", 15), after_node("ViewBackward0"), backward("MulBackward0", 12)
    assert lines(forward(5, "mul, seq = 12"), forward(5, "sum, seq = 15"), *between) == {2: 5, 3: 5, 4: 5}
    assert lines(forward(5, "mul, seq = 12"), forward(6, "sum, seq = 15"), *between) == {2: 6, 4: 5}
    assert lines(forward(5, "sum, seq = 40"), *(backward("SumBackward0", 40), *between[1:])) == {1: 5}
    unknown = backward("SumBackward0", 17), *between[1:]
    assert lines(forward(5, "mul, seq = 12"), forward(6, "exp, seq = 18"), *unknown) == {4: 5}
    far = backward("SumBackward0", 99_999_999_999), *between[1:]
    assert lines(forward(5, "mul, seq = 12"), forward(5, "sum, seq = 99999999999"), *far) == {2: 5, 4: 5}


def test_nodes_around_it_are_of_the_same_backward_pass() -> None:
    steps = forward(5, "mul, seq = 12"), forward(5, "sum, seq = 15"), backward("SumBackward0", 15)
    again = after_node("ViewBackward0"), forward(5, "exp, seq = 16"), backward("MulBackward0", 12)
    assert lines(*steps, *again) == {2: 5, 5: 5}


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("MulBackward0, seq = 12",),
        (f"{EVALUATES}AddBackward0", "aten::add_, op_id = 3"),
        (f"{EVALUATES}torch::autograd::AccumulateGrad", "torch::autograd::AccumulateGrad"),
        (f"{EVALUATES}MulBackward0", "MulBackward0, seq = 99999999999999999999"),
        (f"{EVALUATES}MulBackward0", "AddBackward0, seq = 12"),
    ],
)
def test_ranges_without_a_numbered_node_say_nothing(names: tuple[str, ...]) -> None:
    assert lines(forward(5, "mul, seq = 12"), (None, names)) == {}


def test_a_function_of_the_user_is_found_by_its_name() -> None:
    own = (5, ("Scaled, seq = 3, op_id = 9", "aten::mul, op_id = 10"))
    assert lines(own, backward("ScaledBackward", 3)) == {1: 5}


def test_a_recomputed_forward_pass_is_its_node_s() -> None:
    """A checkpoint runs operators inside of its backward pass, on another thread, with numbers of its own."""
    again = backward("CheckpointFunctionBackward", 2, "aten::mul, seq = 0, op_id = 50")
    steps = forward(5, "mul, seq = 0"), (6, ("CheckpointFunction, seq = 2, op_id = 8",)), again
    assert lines(*steps) == {2: 6}


def test_a_backward_pass_inside_of_another_has_its_own_node() -> None:
    names = (*backward("CheckpointFunctionBackward", 2)[1], *backward("MulBackward0", 7)[1])
    assert lines(forward(5, "mul, seq = 7"), (None, names)) == {1: 5}


def test_numbers_of_another_report_say_nothing() -> None:
    steps = forward(5, "mul, seq = 12"), backward("MulBackward0", 12)
    assert lines(*steps, runs=[[0], [1]]) == {}


def test_ranges_of_a_recorded_training_step() -> None:
    """PyTorch 2.11, ncu 2025.3.1: linear 14, relu 15, norm 16, scale 17, views 18, linear 19, loss 29 and 30."""
    rows = json.loads(Path(__file__).with_name("torch_ranges.json").read_text(encoding="utf-8"))
    found = lines(*((line or None, tuple(names)) for line, names in rows))
    named = [found.get(launch) for launch, (line, _) in enumerate(rows) if not line]
    view = None  # its neighbours are of lines 17 and 18
    loss = [30, 30, 30, 30, 30, 29, 29, 29, 29, 29]
    assert named == [*loss, 19, 19, 19, 19, view, 17, 17, 17, 16, 16, 15, 14, 14]
