"""Messages of rule files: formatted numbers and nothing else."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import UnsafeTemplate
from ncuview.engine.template import MAX_LENGTH, compile_template

NAMES = ("a", "b")


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("{a:.1f}-way", "1234.6-way"),
        ("{a:,.0f} of {b:.0%}", "1,235 of 25%"),
        ("{a:g}", "1234.57"),
        ("{b}", "0.25"),
        ("{{a}} {b:.2f}", "{a} 0.25"),
        ("plain", "plain"),
    ],
)
def test_values_are_formatted_as_pythons_format_does(text: str, want: str) -> None:
    assert compile_template(text, NAMES).fill({"a": 1234.567, "b": 0.25, "more": 1.0}) == want


@pytest.mark.parametrize(
    "text",
    [
        "{}",
        "{0}",
        "{c}",
        "{a.real}",
        "{a.__class__}",
        "{a.__class__.__init__.__globals__}",
        "{a[0]}",
        "{a!r}",
        "{a!s:.1f}",
        "{a:{b}}",
        "{a:.{b}f}",
        "{a:d}",
        "{a:>1000000000}",
        "{a:1000000000}",
        "{a:.999f}",
        "{a:x}",
        "{a:%Y}",
        "{a",
        "a}",
        "{a!}",
        "{ a }",
        "{a:.1f\n}",
    ],
)
def test_a_field_that_is_more_than_a_formatted_value_is_refused(text: str) -> None:
    with pytest.raises(UnsafeTemplate):
        compile_template(text, NAMES)


def test_a_long_message_is_refused() -> None:
    assert compile_template("x" * MAX_LENGTH, NAMES).fill({}) == "x" * MAX_LENGTH
    with pytest.raises(UnsafeTemplate, match="4097 characters"):
        compile_template("x" * (MAX_LENGTH + 1), NAMES)


@given(st.one_of(st.text(max_size=40), st.text("ab{}[]:!.,%fgd019 ", max_size=40)), st.floats(), st.floats())
def test_any_text_is_refused_or_can_be_filled(text: str, a: float, b: float) -> None:
    with suppress(UnsafeTemplate):
        assert isinstance(compile_template(text, NAMES).fill({"a": a, "b": b}), str)
