"""The public names: all are there, and no others."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import ncuview


def test_the_public_names_are_sorted_and_stand_once() -> None:
    assert ncuview.__all__ == sorted(set(ncuview.__all__))


@pytest.mark.parametrize("name", ncuview.__all__)
def test_a_public_name_can_be_imported_and_says_what_it_is(name: str) -> None:
    assert getattr(ncuview, name).__doc__
    assert name in dir(ncuview)


def test_dir_shows_the_public_names_and_nothing_else() -> None:
    assert dir(ncuview) == ncuview.__all__
    assert {name for name in dir(ncuview) if callable(getattr(ncuview, name)) and name.islower()} == {
        *("read", "run", "diagnose"),
        *("analyze", "compare", "check", "render", "view"),
        "ladder",
        *("calls_frame", "findings_frame", "metrics_frame", "units_frame", "plot_ladder", "plot_units"),
    }


@pytest.mark.checkout
def test_the_library_page_has_every_public_name() -> None:
    page = (Path(__file__).resolve().parents[1] / "docs" / "how-to" / "library.md").read_text(encoding="utf-8")
    assert not {name for name in ncuview.__all__ if not re.search(rf"\b{name}\b", page)}


def test_names_of_earlier_releases_still_work() -> None:
    assert ncuview.profile is ncuview.run
    assert callable(ncuview.load_rules)
    assert callable(ncuview.scrub)
    assert ncuview.walls_frame is ncuview.units_frame
    assert ncuview.plot_walls is ncuview.plot_units


def test_a_star_import_brings_exactly_the_public_names() -> None:
    namespace: dict[str, object] = {}
    exec("from ncuview import *", namespace)
    assert namespace.keys() - {"__builtins__"} == set(ncuview.__all__)


def test_any_other_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'ncuview' has no attribute 'nonsense'"):
        _ = ncuview.nonsense


def test_the_version_has_three_numbers() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", ncuview.__version__)


LOADED = """
import ncuview, sys
from importlib import import_module
from types import ModuleType
before = {name: getattr(ncuview, name) for name in ncuview.__all__}
for module in sys.argv[1:]:
    import_module(module)
for name, value in before.items():
    assert getattr(ncuview, name) is value, name
    assert not isinstance(value, ModuleType), name
    assert name in dir(ncuview), name
"""


@pytest.mark.parametrize("before", ["", "import ncuview.engine.rank, ncuview.render.terminal"])
def test_no_module_hides_a_public_name_that_it_shares(before: str) -> None:
    package = Path(ncuview.__file__).parent
    modules = [
        ".".join(("ncuview", *path.relative_to(package).with_suffix("").parts)).removesuffix(".__init__")
        for path in package.rglob("*.py")
    ]
    # Those below are the programs of child processes, and need a GPU's libraries or the report's reader.
    children = ("__main__", "ncuview.catalogue.launcher", "ncuview.reader.native")
    loaded = [name for name in modules if not name.startswith(children[1:]) and children[0] not in name]
    done = subprocess.run(
        [sys.executable, "-P", "-c", f"{before}\n{LOADED}", *loaded], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_package_can_be_reloaded() -> None:
    reloading = "import importlib, ncuview; importlib.reload(ncuview); assert callable(ncuview.diagnose)"
    done = subprocess.run([sys.executable, "-P", "-c", reloading], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_function_that_shares_its_name_with_a_package_is_the_function() -> None:
    assert not isinstance(ncuview.render, ModuleType)
    assert sys.modules["ncuview.render"].__doc__ != ncuview.render.__doc__
