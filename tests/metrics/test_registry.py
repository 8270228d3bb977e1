"""Mistakes in the function of a quantity are errors that name file, line, quantity and parameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ncuview.base.errors import QuantityError
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.names import NAMES, OF_INSTRUCTIONS, STALL_REASONS
from ncuview.metrics.quantities import QUANTITIES, launch
from ncuview.metrics.registry import REGISTERED, check_inputs, instruction_quantity, quantity
from tests.builders import Launch, make_profile

Decorator = Callable[[Callable[..., Any]], object]


@pytest.fixture(autouse=True)
def _registry() -> Iterator[None]:
    """Forget what a test registers."""
    known = dict(REGISTERED)
    yield
    REGISTERED.clear()
    REGISTERED.update(known)


def mine(executed: Any) -> Any:
    """What is tested."""
    return executed


def refusal(decorator: Decorator, function: Callable[..., Any]) -> QuantityError:
    with pytest.raises(QuantityError) as refused:
        decorator(function)
    assert str(refused.value).startswith(f"{__file__}:{function.__code__.co_firstlineno}: quantity {function.__name__}")
    assert refused.value.exit_code == 2
    return refused.value


def test_a_wrong_parameter_of_an_instruction_quantity_is_answered_with_the_right_ones() -> None:
    def wide(code: Any, execution: Any) -> float:
        """What is tested."""
        return float(execution.sum()) + len(code)

    refused = refusal(instruction_quantity("inst"), wide)
    assert "parameter 'execution' is no metric of each instruction; did you mean executions?" in str(refused)
    assert "code, places" in refused.hint
    assert "samples_REASON" in refused.hint


@pytest.mark.parametrize(("name", "what"), [("code", "machine code"), ("samples_wait", "a metric of each instruction")])
def test_what_instructions_have_is_no_parameter_of_a_quantity(name: str, what: str) -> None:
    namespace: dict[str, Any] = {}
    exec(f"def wide({name}):\n    'What is tested.'", namespace)
    with pytest.raises(QuantityError, match=f"quantity wide: parameter '{name}' is {what}") as refused:
        quantity("inst")(namespace["wide"])
    assert "@instruction_quantity" in refused.value.hint


def test_a_parameter_that_names_nothing_is_refused_once_all_are_registered() -> None:
    def wide_share(executd: Any) -> Any:
        """What is tested."""
        return executd

    quantity("share")(wide_share)
    with pytest.raises(QuantityError, match=r"quantity wide_share: parameter 'executd' .*did you mean executed"):
        check_inputs(QUANTITIES)


def test_a_quantity_that_is_computed_from_itself_is_refused() -> None:
    def one(other: Any) -> Any:
        """What is tested."""
        return other

    def other(one: Any) -> Any:
        """What is tested."""
        return one

    quantity("inst")(one)
    quantity("inst")(other)
    with pytest.raises(QuantityError, match="quantity one is computed from itself: one from other from one"):
        check_inputs(QUANTITIES)


def test_a_name_is_taken_once() -> None:
    quantity("inst")(mine)
    taken = refusal(quantity("inst"), mine)
    assert f"the name is taken by the quantity at {REGISTERED['mine'].place}" in str(taken)

    def grid_size(executed: Any) -> Any:
        """What is tested."""
        return executed

    assert "taken by the metric launch__grid_size" in str(refusal(quantity("inst"), grid_size))


@pytest.mark.parametrize("decorator", [quantity, instruction_quantity])
def test_a_decorator_without_parentheses_or_unit_registers_nothing_and_says_so(decorator: Any) -> None:
    for decorate in (decorator, decorator()):
        refused = refusal(decorate, mine)
        assert "has no unit" in str(refused)
        assert f'@{decorator.__name__}("inst")' in refused.hint
    assert "mine" not in REGISTERED


def test_a_parameter_with_a_default_and_a_function_without_a_docstring_are_refused() -> None:
    def defaulted(executed: Any, factor: float = 2.0) -> Any:
        """What is tested."""
        return factor * executed

    def silent(executed: Any) -> Any:
        return executed

    assert "parameter 'factor'" in str(refusal(quantity("inst"), defaulted))
    assert "no docstring" in str(refusal(quantity("inst"), silent))


def computed(function: Callable[..., Any], decorator: Decorator) -> str:
    """What is said when a quantity is computed."""
    decorator(function)
    analysis = Analysis(make_profile(Launch(), Launch()))
    return str(refusal(lambda function: analysis.value(function.__name__), function))


def test_a_function_that_raises_is_named_with_the_line() -> None:
    def broken(executed: Any) -> Any:
        """What is tested."""
        return executed.first

    line = broken.__code__.co_firstlineno + 2
    said = computed(broken, quantity("inst"))
    assert "raises AttributeError: 'numpy.ndarray' object has no attribute 'first'" in said
    assert said.endswith(f"at line {line}")


def test_a_failure_of_a_shipped_quantity_is_a_bug_of_ncuview_and_of_another_the_users_mistake() -> None:
    profile = make_profile(Launch())
    for place, name, code in ((launch.__file__, "ours", 70), (__file__, "users", 2)):
        namespace: dict[str, Any] = {}
        exec(compile(f"def {name}(executed):\n    'What is tested.'\n    return 1 / 0", place, "exec"), namespace)
        quantity("inst")(namespace[name])
        with pytest.raises(QuantityError, match=f"{name}: raises ZeroDivisionError") as failed:
            Analysis(profile).value(name)
        assert failed.value.exit_code == code
        assert ("bug of ncuview" in failed.value.hint) == (code == 70)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (1.0, "a single number, not one number for each of 2 launches"),
        (np.ones(3), "a column of 3, not one number for each of 2 launches"),
        (None, "nothing"),
        ("x", "str, not a column of numbers"),
    ],
)
def test_a_quantity_returns_one_number_for_each_launch(given: object, said: str) -> None:
    def shaped(executed: Any) -> Any:
        """What is tested."""
        return given

    assert f"returns {said}" in computed(shaped, quantity("inst"))


@pytest.mark.parametrize(
    ("given", "said"),
    [(np.ones(7), "a column of 7, not one number for the launch"), (None, "nothing"), ("x", "str, not a number")],
)
def test_an_instruction_quantity_returns_one_number(given: object, said: str) -> None:
    def shaped(executions: Any) -> Any:
        """What is tested."""
        return given

    assert f"returns {said}" in computed(shaped, instruction_quantity("inst"))


def test_each_stall_reason_is_a_quantity_that_says_how_it_is_computed() -> None:
    for reason in STALL_REASONS:
        share = QUANTITIES[f"stall_{reason}"]
        assert f"stall reason {reason}: its samples divided by those of all reasons" in share.summary
        assert f"sum over all {len(STALL_REASONS)} reasons" in share.details


def test_metrics_of_instructions_have_names_of_their_own() -> None:
    assert not OF_INSTRUCTIONS.keys() & (NAMES.keys() | QUANTITIES.keys())
