"""Imports point one way, heavy or native ones stand where they are allowed, and importing ncuview is cheap."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import ncuview
from tests.together import together

PACKAGE = Path(ncuview.__file__).parent
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}
LATER = {
    "report": {"ruleset", "diagnose", "gate", "trend", "render", "collect", "edit", "doctor"},
    "ruleset": {"diagnose", "gate", "trend", "render", "collect", "edit", "doctor"},
    "diagnose": {"gate", "trend", "render", "collect", "edit", "doctor"},
    "gate": {"trend", "render", "collect", "edit", "doctor"},
    "trend": {"render", "collect", "edit", "doctor"},
    "collect": {"diagnose", "gate", "trend", "render", "edit", "doctor"},
    "edit": {"collect", "ruleset", "diagnose", "gate", "trend", "render", "doctor"},
    "doctor": {"ruleset", "diagnose", "gate", "trend", "render", "edit"},
    "render": {"collect", "edit"},
}
"""What a stage must not import."""
ALLOWED = {
    # The arithmetic of textbook metrics, and of metrics that others determine, is that of rules.
    ("report.metrics", "ruleset.expression"),
    ("report.determined", "ruleset.expression"),
}
OUTERMOST = {"api", "sampled", "history", "without_counters", "cli", "pytest_plugin", "__init__", "__main__"}


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


def stage_of(module: str) -> str:
    return module.partition(".")[0]


@together("module", sorted(MODULES))
def test_no_stage_imports_a_later_one(module: str) -> None:
    later = LATER.get(stage_of(module), set())
    assert not {used for used in ours(MODULES[module]) if stage_of(used) in later and (module, used) not in ALLOWED}


@together("module", sorted(name for name in MODULES if stage_of(name) not in OUTERMOST))
def test_no_stage_imports_the_pipeline_or_the_command_line(module: str) -> None:
    assert not ours(MODULES[module]) & {"api", "cli"}


@pytest.mark.parametrize(("module", "used"), sorted(ALLOWED))
def test_every_exception_from_the_order_is_still_needed(module: str, used: str) -> None:
    assert used in ours(MODULES[module])


@pytest.mark.parametrize("module", ["model", "errors", "paths", "files"])
def test_what_all_stages_share_imports_nothing_of_ours(module: str) -> None:
    assert not [name for name in imports(MODULES[module]) if name.startswith("ncuview")]


@pytest.mark.parametrize(
    ("library", "home"),
    [
        ("ncu_report", {"report.native"}),
        (
            "pycuda",
            {"collect.host.__main__", "collect.host.data", "collect.host.launch_times", "collect.host.times"},
        ),
    ],
)
def test_native_libraries_are_imported_in_child_processes_only(library: str, home: set[str]) -> None:
    users = {module for module, path in MODULES.items() if library in {name.split(".")[0] for name in imports(path)}}
    assert users == home


@pytest.mark.parametrize("home", ["report.native", "report.outline_child", "collect.host", "doctor.driver_probe"])
def test_no_module_imports_a_child_process(home: str) -> None:
    assert not {module for module, path in MODULES.items() if home in ours(path)}


def loaded_by(statement: str) -> set[str]:
    """The top-level modules in a fresh process after a statement."""
    program = f"{statement}\nimport sys\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True)
    return {name.split(".")[0] for name in done.stdout.split()}


def test_importing_ncuview_is_cheap() -> None:
    assert not loaded_by("import ncuview") & {"pandas", "numpy", "pydantic", "rich", "typer", "lxml"}


def test_the_command_line_starts_without_what_only_some_commands_need() -> None:
    heavy = {"pandas", "numpy", "pydantic", "pycuda", "ncu_report", "lxml", "tree_sitter"}
    assert not loaded_by("import ncuview.cli") & heavy
    assert not loaded_by("import typer.main, ncuview.cli.app; typer.main.get_command(ncuview.cli.app.app)") & heavy


def test_the_model_needs_no_library() -> None:
    assert not loaded_by("import ncuview.model") & {"pandas", "numpy"}
