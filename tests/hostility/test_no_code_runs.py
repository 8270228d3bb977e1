"""Nothing of ncuview runs text as code, by an inspection of its source."""

from __future__ import annotations

import ast
from pathlib import Path

import ncuview
from tests.together import together

PACKAGE = Path(ncuview.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
CALLS = {"eval", "exec", "compile", "__import__", "execfile", "breakpoint"}
MODULES = {"pickle", "marshal", "shelve", "dill", "yaml", "code", "codeop", "runpy", "jsonpickle"}
ALLOWED = {
    "profiling/callable.py": {"pickle", "cloudpickle"},
    "profiling/call.py": {"pickle", "cloudpickle"},
    "pipeline/workers.py": {"pickle"},  # between processes of ours, each of which reads reports in a child of its own
}
"""A function of the user's own is sent to a child process of ours, in a private folder, and nothing else is."""


def ways_to_run(source: Path) -> set[str]:
    """Calls and imports by which a text could become code."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in CALLS:
                found.add(name)
            case ast.Call(func=ast.Attribute(value=ast.Name(id="builtins" | "importlib" | "os"), attr=name)) if (
                name in CALLS | {"import_module", "system", "popen"}
            ):
                found.add(name)
            case ast.Call(keywords=keywords) if any(
                word.arg == "shell" and not (isinstance(word.value, ast.Constant) and word.value.value is False)
                for word in keywords
            ):
                found.add("shell")
            case ast.Import(names=names):
                found |= {alias.name.partition(".")[0] for alias in names} & (MODULES | {"cloudpickle"})
            case ast.ImportFrom(module=str(module)):
                found |= {module.partition(".")[0]} & (MODULES | {"cloudpickle"})
            case _:
                pass
    return found


@together("source", SOURCES, name=lambda path: str(path.relative_to(PACKAGE)))
def test_no_text_becomes_code(source: Path) -> None:
    assert ways_to_run(source) <= ALLOWED.get(source.relative_to(PACKAGE).as_posix(), set())


def test_the_scan_sees_what_it_looks_for(tmp_path: Path) -> None:
    bad = "import pickle\nfrom yaml import load\nimport os, builtins\n"
    bad += "eval('1')\nbuiltins.exec('1')\nos.system('x')\nf(shell=True)\n__import__('x')\n"
    source = tmp_path / "bad.py"
    source.write_text(bad)
    assert ways_to_run(source) == {"pickle", "yaml", "eval", "exec", "system", "shell", "__import__"}
