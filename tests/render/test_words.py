"""The words that pages share."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.render.words import kernel_words


@pytest.mark.parametrize(
    ("demangled", "shown"),
    [
        ("transposeNaive(float *, const float *, int)", "transposeNaive"),
        ("void rotate<(int)32, (int)8>(float *, int)", "rotate<(int)32, (int)8>"),
        ("void (anonymous namespace)::scale<float>(float *)", "(anonymous namespace)::scale<float>"),
        ("apply(void (*)(int), float)", "apply"),
        ("triton_kernel", "triton_kernel"),
        ("(", "("),
        ("", ""),
    ],
)
def test_a_kernel_is_shown_without_parameters_and_result(demangled: str, shown: str) -> None:
    assert kernel_words(demangled) == shown


@given(st.text(alphabet="ab<>() ,:", max_size=30))
def test_no_name_is_lost(demangled: str) -> None:
    assert kernel_words(demangled) or not demangled.strip()
