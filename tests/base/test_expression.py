"""The arithmetic of rule files: Python's on known numbers, NaN for unknown ones, and no other code is run."""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import UnsafeExpression
from ncuview.base.expression import MAX_DEPTH, MAX_LENGTH, MAX_PARTS, compile_expression
from tests.together import together

NAMES = ("a", "b", "c")
UNKNOWN = math.nan

numbers = st.floats(-1e6, 1e6, allow_subnormal=False)
leaves = st.one_of(st.sampled_from(NAMES), st.integers(0, 1000).map(str), st.sampled_from(["0.5", "2.25", "1e3"]))


def grown(parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """One more layer of allowed operations around smaller expressions."""
    return st.one_of(
        st.tuples(parts, st.sampled_from("+-*"), parts).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        parts.map(lambda part: f"(-{part})"),
        parts.map(lambda part: f"abs({part})"),
        st.tuples(st.sampled_from(["min", "max"]), parts, parts).map(lambda t: f"{t[0]}({t[1]}, {t[2]})"),
        st.tuples(parts, st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), parts).map(
            lambda t: f"({t[0]} {t[1]} {t[2]})"
        ),
    )


arithmetic = st.recursive(leaves, grown, max_leaves=12)


def value(text: str, **values: float) -> float:
    return float(compile_expression(text).evaluate({name: np.array(number) for name, number in values.items()}))


def python_says(text: str, values: dict[str, float]) -> float:
    return float(eval(text, {"__builtins__": {}, "abs": abs, "min": min, "max": max}, values))


@given(arithmetic, st.fixed_dictionaries(dict.fromkeys(NAMES, numbers)))
def test_on_known_numbers_it_is_pythons_own_arithmetic(text: str, values: dict[str, float]) -> None:
    want = python_says(text, values)
    if math.isfinite(want):
        assert value(text, **values) == want


@given(numbers, numbers)
def test_a_quotient_is_pythons_or_unknown(a: float, b: float) -> None:
    result = value("a / b", a=a, b=b)
    if b and math.isfinite(a / b):
        assert result == a / b
    else:
        assert math.isnan(result)


@pytest.mark.parametrize("text", ["a / 0", "-a / 0", "0 / 0", "a / (b - b)", "1e308 / 1e-308"])
def test_a_division_that_has_no_result_is_unknown_and_never_infinite(text: str) -> None:
    assert math.isnan(value(text, a=1, b=2))


@pytest.mark.parametrize(
    "text", ["a + a", "a * 10", "-a - a", "a / 1e-9", "max(a, a * a)", "a * 10 > 1", "a + a == a + a"]
)
def test_what_is_too_large_for_a_number_is_unknown(text: str) -> None:
    assert math.isnan(value(text, a=1.7e308))


@pytest.mark.parametrize(
    "text", ["a", "a > 1", "a == a", "-a < 0", "min(a, 1)", "a and 1", "a or 0", "not a", "where(a, 1, 2)"]
)
@pytest.mark.parametrize("infinite", [math.inf, -math.inf])
def test_infinity_is_unknown(text: str, infinite: float) -> None:
    assert math.isnan(value(text, a=infinite))


@given(st.text("ab01.+-*/<>=!(),minaxbswheredotr \n\\", max_size=200) | st.text(max_size=60))
def test_any_text_is_refused_or_gives_a_number_or_nothing_known(text: str) -> None:
    with suppress(UnsafeExpression):
        result = compile_expression(text, NAMES).evaluate({name: np.array([1.0, 0.0, UNKNOWN]) for name in NAMES})
        assert not np.isinf(result).any()


def test_a_message_repeats_only_the_beginning_of_a_long_text() -> None:
    for text in ("a" + "+a" * 2000, "[" + "a," * 2000 + "]", "(" * 4000, "x" * 4000):
        with pytest.raises(UnsafeExpression) as refused:
            compile_expression(text, NAMES)
        assert len(str(refused.value)) < 300


@pytest.mark.parametrize("text", ["a + 1", "1 - a", "a * 0", "a / 1", "-a", "+a", "abs(a)", "min(a, 1)", "max(1, a)"])
def test_arithmetic_on_an_unknown_is_unknown(text: str) -> None:
    assert math.isnan(value(text, a=UNKNOWN))


@pytest.mark.parametrize("text", ["a < 1", "1 <= a", "a > 1", "a >= 1", "a == a", "a != a", "0 < a < 1", "not a"])
def test_a_comparison_with_an_unknown_is_unknown(text: str) -> None:
    assert math.isnan(value(text, a=UNKNOWN))


@pytest.mark.parametrize(("a", "b"), list(product([0.0, 1.0, UNKNOWN], repeat=2)))
def test_logic_is_kleenes(a: float, b: float) -> None:
    def kleene(conjunction: bool) -> float:
        decides = 0.0 if conjunction else 1.0
        if decides in (a, b):
            return decides
        return UNKNOWN if math.isnan(a) or math.isnan(b) else 1.0 - decides

    np.testing.assert_equal([value("a and b", a=a, b=b), value("a or b", a=a, b=b)], [kleene(True), kleene(False)])


def test_where_chooses_by_its_condition_and_knows_nothing_without_one() -> None:
    columns = {"a": np.array([1.0, 0.0, UNKNOWN]), "b": np.full(3, 5.0), "c": np.full(3, 7.0)}
    np.testing.assert_equal(compile_expression("where(a, b, c)").evaluate(columns), [5.0, 7.0, UNKNOWN])


def test_where_ignores_an_unknown_in_the_branch_not_taken() -> None:
    assert value("where(a > 0, a, b)", a=1, b=UNKNOWN) == 1


def test_a_chain_of_comparisons_holds_when_all_its_links_do() -> None:
    assert [value("1 < a < 3", a=a) for a in (1, 2, 3)] == [0, 1, 0]


def test_names_lists_what_is_read() -> None:
    assert compile_expression("max(a, 2) + where(b > 0, a, c)").names == {"a", "b", "c"}


def test_a_dotted_name_is_one_name_where_that_is_allowed() -> None:
    compiled = compile_expression("sm__warps_active.avg / 2", dotted=True)
    assert compiled.names == {"sm__warps_active.avg"}
    assert compiled.evaluate({"sm__warps_active.avg": np.array([4.0])}).tolist() == [2.0]


HOSTILE = [
    "a.__class__",
    "a.real",
    "(1).__class__",
    "().__class__.__bases__[0].__subclasses__()",
    "'a'.join(b)",
    "__import__('os')",
    "__builtins__",
    "__name__",
    "open('/etc/passwd')",
    "eval('1')",
    "print(a)",
    "min(a, b)(c)",
    "min.__call__(a, b)",
    "max(a, b, key=a)",
    "max(*a)",
    "max(**a)",
    "max(a)",
    "abs(a, b)",
    "where(a, b)",
    "min",
    "a[0]",
    "a[b]",
    "a[0:1]",
    "[a for a in b]",
    "{a for a in b}",
    "(a for a in b)",
    "{a: b for a in b}",
    "[a]",
    "(a, b)",
    "{a}",
    "{}",
    "a, b",
    "lambda: a",
    "lambda a=b: a",
    "a if b else c",
    "f'{a}'",
    "'text'",
    "b'bytes'",
    "a := 1",
    "(a := 1)",
    "await a",
    "yield a",
    "(yield)",
    "a ** b",
    "9 ** 9 ** 9",
    "a // b",
    "a % b",
    "a @ b",
    "a << b",
    "a | b",
    "~a",
    "a in b",
    "a is b",
    "True",
    "None",
    "...",
    "1j",
    "1e999",
    "9" * 400,
    "0x" + "f" * 4000,
    "[0x" + "f" * 4000 + "]",
    "a = 1",
    "import os",
    "a; b",
    "a\nb",
    "a\0b",
    "\0",
    "",
    " ",
    "# a",
    "\ud800",
    "а + 1",  # noqa: RUF001 (a Cyrillic letter)
    "a − b",  # noqa: RUF001 (a minus sign)
    "a × b",  # noqa: RUF001
    "unknown",
    "a" * (MAX_LENGTH + 1),
    "+" * (MAX_DEPTH + 1) + "a",
    "(" * 500 + "a" + ")" * 500,
    "-" * 4000 + "a",
    "[" + "-" * 900 + "a]",
    "f(" + "-" * 2500 + "a)",
    "a" + ".b" * 900,
    "a" + "+a" * 2000,
    "a" + "[0]" * 900,
    "not " * 1000 + "a",
    "a" + " < a" * MAX_PARTS,
    "a" + " and a" * MAX_PARTS,
]


@together("text", HOSTILE, name=lambda text: ascii(text[:40]))
def test_anything_but_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(UnsafeExpression):
        compile_expression(text, NAMES)


@pytest.mark.parametrize("text", ["a.b()", "a.b[0].c", "(a + b).c", "a.b.__class__()", "'x'.y", "1 .real"])
def test_where_dotted_names_are_allowed_nothing_else_is(text: str) -> None:
    with pytest.raises(UnsafeExpression):
        compile_expression(text, dotted=True)


@given(st.one_of(st.text(max_size=60), st.text("ab01.()[]{}+-*/<>=!,'\"\\ :@#~^&|notandorwhereminxl\n", max_size=60)))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    with suppress(UnsafeExpression):
        compile_expression(text, NAMES)


@pytest.mark.parametrize(
    ("text", "place"),
    [("a >", " at its end"), ("  a >  ", " at its end"), ("a + * b", " at column 5"), ("  a b", " at column 5")],
)
def test_the_column_of_a_syntax_error_is_named(text: str, place: str) -> None:
    with pytest.raises(UnsafeExpression, match=f"^not an expression{place}: '"):
        compile_expression(text)
