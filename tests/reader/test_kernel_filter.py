"""Kernel filters: names, patterns, and patterns that would take exponential time."""

from __future__ import annotations

import re
import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import UsageError
from ncuview.base.patterns import LONGEST
from ncuview.reader.kernel_filter import check_kernel_filter, matches
from tests.hostile import each_payload

CATASTROPHES = ["(a+)+$", "(a*)*b", "(a|a)*b", "(a|aa)+$", "^(a?){50}a{50}$", "(.*)*x", "([a-z]+)*[A-Z]"]


@pytest.mark.parametrize(
    ("name", "kernel_filter", "asked"),
    [
        ("copy", "", True),
        ("copy", "copy", True),
        ("copy", "cop", False),
        ("copy", "regex:^co", True),
        ("copy", "regex:op", True),
        ("copy", "regex:^op", False),
        ("copy_v2", r"regex:_v\d$", True),
        ("k\udcff", "regex:k.", True),
        ("k", "regex:\udcff", False),
        ("k\u00e9rnel", "regex:^k.rnel$", True),
    ],
)
def test_a_name_or_a_pattern_chooses(name: str, kernel_filter: str, asked: bool) -> None:
    check_kernel_filter(kernel_filter)
    assert matches(name, kernel_filter) is asked


@given(st.text("ab", max_size=8), st.text("ab|*+?.()^$", max_size=8))
def test_it_says_what_python_s_own_engine_says(name: str, pattern: str) -> None:
    try:
        want = re.search(pattern, name) is not None
    except re.error:
        return
    try:
        assert matches(name, f"regex:{pattern}") is want
    except UsageError:
        assert re.search(r"[*+?]{2}|\(\?", pattern)  # stacked repeats, which the two write differently


@pytest.mark.parametrize("pattern", CATASTROPHES)
def test_no_pattern_takes_for_ever(pattern: str) -> None:
    began = time.process_time()
    assert not matches("a" * 3000 + "!" + "a" * 900 + "-", f"regex:^{pattern.strip('^$')}$")
    assert time.process_time() - began < 30  # Python's own engine would not be done today


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "(?=a)", r"(a)\1", "a{2000}", "(" * 2000, ".{1000}" * 100])
def test_what_is_no_pattern_is_refused_in_words(pattern: str) -> None:
    with pytest.raises(UsageError, match="is no pattern: ") as refused:
        check_kernel_filter(f"regex:{pattern}")
    assert len(str(refused.value)) < 250
    assert "RE2" in refused.value.hint


def test_a_long_pattern_is_refused() -> None:
    check_kernel_filter(f"regex:{'a' * LONGEST}")
    with pytest.raises(UsageError, match="4,097 characters is too long"):
        check_kernel_filter(f"regex:{'a' * (LONGEST + 1)}")


def test_only_the_beginning_of_a_long_name_is_looked_at() -> None:
    assert not matches("a" * LONGEST + "b", "regex:b")


@each_payload
def test_hostile_names_and_patterns_do_nothing(text: str) -> None:
    assert matches(text, text)
    assert matches(text, "regex:^")
    with suppress(UsageError):
        assert matches(text, f"regex:{text}") in {True, False}
