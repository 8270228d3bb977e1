"""Imports go one way, heavy or native ones are only where they are allowed, and importing ncuview is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ncuview
from tests.together import together

PACKAGE = Path(ncuview.__file__).parent
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
LAYERS = (
    {"base", "sass"},
    {"records"},
    {"gpus", "reader", "profiling", "programs"},
    {"metrics"},
    {"speedup"},
    {"engine"},
    {"catalogue", "comparison"},
    {"patch"},
    {"trends", "doctor", "store", "trial"},
    {"gate"},
    {"pipeline"},
    {"render"},
    {"api"},
    {"testing", "mcp_server"},
    {"cli", "pytest_plugin"},
)
"""A package imports from its own and from earlier layers."""
LAYER = {package: number for number, layer in enumerate(LAYERS) for package in layer}
NARROWER = {"sass": set[str](), "profiling": {"base", "records"}, "programs": {"base", "records"}}
"""Packages that know less than their layer allows."""
ROOT = {"__init__", "__main__"}


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that a file imports, also inside functions and for type checking."""
    return frozenset(_imports(path))


def _imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=level):
                assert level == 0, f"{path}: relative import"
                yield module
                yield from (
                    f"{module}.{alias.name}" for alias in names if f"{module}.{alias.name}".startswith("ncuview.")
                )
            case _:
                pass


def ours(path: Path) -> set[str]:
    """The modules of ncuview that a file imports, without ``ncuview.``."""
    names = {name.removeprefix("ncuview.") for name in imports(path) if name.startswith("ncuview.")}
    return names & MODULES.keys()


def package_of(module: str) -> str:
    return module.partition(".")[0]


def may_import(package: str) -> set[str]:
    """The other packages that a package may import."""
    earlier = {other for other, layer in LAYER.items() if layer < LAYER[package]}
    return NARROWER.get(package, earlier)


def test_every_package_has_a_layer() -> None:
    assert {package_of(module) for module in MODULES} - ROOT == LAYER.keys()


@together("module", sorted(name for name in MODULES if name not in ROOT))
def test_imports_go_one_way(module: str) -> None:
    package = package_of(module)
    others = {used for used in ours(MODULES[module]) if package_of(used) != package}
    assert not {used for used in others if package_of(used) not in may_import(package)}


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {module: ours(path) - {module} for module, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as found:
        pytest.fail(f"a circle: {' -> '.join(found.args[1])}")


@pytest.mark.parametrize(
    ("library", "home"),
    [
        ("ncu_report", {"reader.native"}),
        (
            "pycuda",
            {f"catalogue.launcher.{name}" for name in ("__main__", "data", "shared_memory", "times", "variants")},
        ),
    ],
)
def test_native_libraries_are_imported_in_child_processes_only(library: str, home: set[str]) -> None:
    users = {module for module, path in MODULES.items() if library in {name.split(".")[0] for name in imports(path)}}
    assert users == home


@pytest.mark.parametrize("home", ["reader.native", "reader.outline_child", "catalogue.launcher", "doctor.driver_probe"])
def test_no_module_imports_a_child_process(home: str) -> None:
    assert not {module for module, path in MODULES.items() if home in ours(path)}


def modules_after(statement: str) -> set[str]:
    """The modules in a fresh process after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    return {*done.stdout.split()}


def loaded_by(statement: str) -> set[str]:
    """The top-level modules among these."""
    return {name.split(".")[0] for name in modules_after(statement)}


def test_importing_ncuview_is_cheap() -> None:
    assert not loaded_by("import ncuview") & {"pandas", "numpy", "pydantic", "rich", "typer", "lxml"}


def test_the_command_line_starts_without_what_only_some_commands_need() -> None:
    heavy = {"pandas", "numpy", "pydantic", "pycuda", "ncu_report", "lxml", "tree_sitter"}
    assert not loaded_by("import ncuview.cli") & heavy
    assert not loaded_by("import typer.main, ncuview.cli.app; typer.main.get_command(ncuview.cli.app.app)") & heavy


def test_the_server_of_agents_starts_without_what_its_workers_need() -> None:
    found = modules_after("import ncuview.cli, ncuview.mcp_server.server")
    assert not {name.split(".")[0] for name in found} & {"pandas", "numpy", "duckdb", "pyarrow", "pycuda", "lxml"}
    ours = {name.split(".")[1] for name in found if name.startswith("ncuview.")}
    assert ours == {"base", "cli", "mcp_server", "profiling", "records", "render"}
    records = {"ncuview.records", "ncuview.records.shown"}
    assert {name for name in found if name.startswith("ncuview.records")} == records, "classes take time to make"


def test_records_need_no_library() -> None:
    records = [module for module in MODULES if package_of(module) == "records"]
    assert not loaded_by(f"import {', '.join(f'ncuview.{module}' for module in records)}") & {"pandas", "numpy"}
