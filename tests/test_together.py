"""Tests of many subjects fail where one of them fails, and name each that does."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

pytest_plugins = ["pytester"]

BODY = """
import pytest
from tests.together import together

@together("word, length", [("one", 3), ("three", 3), ("four", 3), ("six", 3)], name=lambda subject: subject[0])
def test_words_have_three_letters(word: str, length: int, tmp_path) -> None:
    assert tmp_path.is_dir()
    assert len(word) == length

@together("word", ["expected", "missing"])
def test_an_error_is_raised(word: str) -> None:
    with pytest.raises(ValueError):
        if word == "expected":
            raise ValueError

@together("word", ["skipped"])
def test_a_skip_hides_no_subject(word: str) -> None:
    pytest.skip("without a reason")

@together("word", [])
def test_nothing(word: str) -> None:
    pass

@together("word", ["good", "better"])
def test_good(word: str) -> None:
    assert word
"""


def test_every_subject_that_fails_is_named_in_one_failure(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(BODY)
    done = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    done.assert_outcomes(passed=1, failed=4)
    done.stdout.fnmatch_lines_random(
        [
            "*2 of 4 test_words_have_three_letters: three, four*",
            "*assert 5 == 3*",
            "*assert 4 == 3*",
            "*1 of 2 test_an_error_is_raised: 'missing'*",
            "*1 of 1 test_a_skip_hides_no_subject: 'skipped'*",
            "*cannot be skipped: without a reason*",
            "*there is no subject*",
        ]
    )
