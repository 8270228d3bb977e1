"""What is let through to a terminal, over every code point that there is."""

from __future__ import annotations

import json
import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.records.diagnosis import Fix
from ncuview.render.text import json_text, safe_copy, safe_lines, safe_text, without_ci_commands
from tests.hostile import each_hostile_text

EVERY_CHARACTER = [chr(code) for code in range(sys.maxunicode + 1)]
BIDIRECTIONAL = [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x61C)]


def is_control(character: str) -> bool:
    return ord(character) < 0x20 or 0x7F <= ord(character) <= 0x9F


def test_no_code_point_yields_a_control_character_a_surrogate_or_a_direction() -> None:
    safe = set(safe_text("".join(EVERY_CHARACTER)))
    assert not any(map(is_control, safe))
    assert not safe.intersection(BIDIRECTIONAL)
    assert not any(unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"} for character in safe)
    "".join(safe).encode("utf-8")


def test_a_character_alone_is_treated_as_among_others() -> None:
    together = safe_text("".join(EVERY_CHARACTER))
    assert "".join(map(safe_text, EVERY_CHARACTER)) == together


def test_letters_digits_signs_and_spaces_stay() -> None:
    kept = [c for c in EVERY_CHARACTER if unicodedata.category(c)[0] in "LMNPS" or c == " "]
    assert safe_text("".join(kept)) == "".join(kept)


def test_replaced_characters_are_distinct_from_the_replacement() -> None:
    replaced = [safe_text(c) for c in EVERY_CHARACTER if safe_text(c) != c]
    assert len(set(replaced)) == len(replaced)
    assert all(text.isascii() and text.startswith("\\") for text in replaced)


@pytest.mark.parametrize(
    ("text", "shown"),
    [("\x1b[31m", "\\x1b[31m"), ("\u202e", "\\u202e"), ("\U000e0041", "\\U000e0041"), ("\udcff", "\\udcff")],
)
def test_the_replacement_is_the_code_of_the_character(text: str, shown: str) -> None:
    assert safe_text(text) == shown


@each_hostile_text
def test_safe_text_is_safe_already(text: str) -> None:
    assert safe_text(safe_text(text)) == safe_text(text)


def test_code_keeps_its_lines_and_its_indentation() -> None:
    assert safe_lines("if (a)\n\tb = \x1b;\r\n") == "if (a)\n    b = \\x1b;"


def test_only_a_fix_keeps_its_lines() -> None:
    safe = safe_copy(Fix("a\nb", "x\ny", "f\n", "x\n\tz", "g\x07"))
    assert safe == Fix("a\\x0ab", "x\ny", "f\\x0a", "x\n    z", "g\\x07")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("##[error]x", "##\\x5berror]x"),
        ("a ##vso[task.x]y", "a ##vso\\x5btask.x]y"),
        ("###[x", "###\\x5bx"),
        ("a#[0] ## [x]", "a#[0] ## [x]"),
        ("::error::x", "::error::x"),
    ],
)
def test_an_order_anywhere_in_a_line_is_taken_apart(text: str, shown: str) -> None:
    assert safe_text(text) == shown
    assert safe_text(shown) == shown


def test_an_order_at_the_beginning_of_a_line_is_taken_apart_on_pages() -> None:
    page = "::error::x\n  ::warning::y\n\u3000::z\na ::b::c\n\n::\n##[group]\n"
    assert without_ci_commands(page) == "∷error::x\n  ∷warning::y\n\u3000∷z\na ::b::c\n\n∷\n##\\x5bgroup]\n"
    assert len(without_ci_commands("::a")) == len("::a") - 1, "no wider than it was"


def test_pages_of_blanks_take_no_time() -> None:
    assert without_ci_commands("\n" * 200_000 + " " * 200_000) == "\n" * 200_000 + " " * 200_000


@given(st.recursive(st.none() | st.text(), lambda parts: st.lists(parts) | st.dictionaries(st.text(), parts)))
def test_json_is_inert_and_says_the_same(value: object) -> None:
    text = json_text(value)
    assert json.loads(text) == value
    assert text.isascii()
    assert without_ci_commands(text) == text
    assert not [letter for letter in text if letter < " " and letter != "\n"]


def test_orders_in_json_are_escaped() -> None:
    assert json_text(["##[error]x", "##vso[y]"]) == '[\n  "\\u0023\\u0023[error]x",\n  "\\u0023\\u0023vso[y]"\n]\n'
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text(float("nan"))
