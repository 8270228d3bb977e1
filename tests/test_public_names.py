"""The public surface: every name is there, and no other."""

from __future__ import annotations

import re
from importlib.metadata import version

import pytest

import ncuview


def test_the_public_names_are_sorted_and_stand_once() -> None:
    assert ncuview.__all__ == sorted(set(ncuview.__all__))


@pytest.mark.parametrize("name", ncuview.__all__)
def test_a_public_name_can_be_imported_and_says_what_it_is(name: str) -> None:
    assert getattr(ncuview, name).__doc__
    assert name in dir(ncuview)


def test_a_star_import_brings_exactly_the_public_names() -> None:
    namespace: dict[str, object] = {}
    exec("from ncuview import *", namespace)
    assert namespace.keys() - {"__builtins__"} == set(ncuview.__all__)


def test_any_other_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'ncuview' has no attribute 'nonsense'"):
        _ = ncuview.nonsense


def test_the_version_is_that_of_the_package() -> None:
    assert ncuview.__version__ == version("ncuview")
    assert re.fullmatch(r"\d+\.\d+\.\d+", ncuview.__version__)
