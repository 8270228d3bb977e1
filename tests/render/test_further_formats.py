"""Output formats of installed packages: chosen by name, checked before any work, blamed by name when they fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.base.errors import PluginError, UsageError
from ncuview.records.diagnosis import Diagnosis
from ncuview.render.outputs import GROUP, destination, format_names, further_text, output_text
from tests.command_line import RECORDED, ncuview
from tests.toy_package import add_rule, install

TOY = """
from pathlib import Path

RULES = Path(__file__).with_name("rules")

def count(diagnosis):
    return f"{len(diagnosis.launches)} launches\\n"

def fails(diagnosis):
    raise KeyError("launch")

def gives_bytes(diagnosis):
    return b"x"

number = 3
"""
NAMES = {name: f"toy_formats:{name}" for name in ("count", "fails", "gives_bytes", "number", "missing")}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    return install(tmp_path / "packages", "toy_formats", TOY, {GROUP: {**NAMES, "json": "toy_formats:fails"}})


@pytest.fixture
def installed(toy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(toy))


@pytest.mark.usefixtures("installed")
def test_a_format_gets_the_diagnosis_and_gives_text(tmp_path: Path) -> None:
    assert output_text(Diagnosis((), ()), None, "count") == "0 launches\n"
    assert destination(f"count:{tmp_path}/a") == ("count", tmp_path / "a")
    assert set(NAMES) < set(format_names())


@pytest.mark.usefixtures("installed")
def test_a_built_in_format_cannot_be_replaced() -> None:
    assert format_names().count("json") == 1
    assert str(output_text(Diagnosis((), ()), None, "json")).startswith("{")


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize("name", ["number", "missing"])
def test_one_that_cannot_be_loaded_is_refused_before_any_work(name: str, tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=f"entry point '{name}' in ncuview.formats, of toy_formats 1.0") as refused:
        destination(f"{name}:{tmp_path}/a")
    assert "uninstall toy_formats 1.0" in refused.value.hint


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(("name", "said"), [("fails", "KeyError: 'launch'"), ("gives_bytes", "gives bytes, no text")])
def test_one_that_fails_is_named(name: str, said: str) -> None:
    with pytest.raises(PluginError, match=said):
        output_text(Diagnosis((), ()), None, name)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(UsageError, match="no output format 'count'"):
        further_text(Diagnosis((), ()), "count")


def test_the_command_line_lists_installed_formats(toy: Path, tmp_path: Path) -> None:
    code = add_rule(toy / "rules")
    about = toy / "toy_formats-1.0.dist-info" / "entry_points.txt"
    about.write_text(f"{about.read_text()}\n[ncuview.rules]\ntoy = toy_formats:RULES\nbroken = toy_formats:number\n")
    ended = ncuview("analyze", RECORDED, "--format", "count", PYTHONPATH=str(toy))
    assert (ended.code, ended.out) == (0, "30 launches\n")
    assert "entry point 'broken' in ncuview.rules" in ended.err
    assert code in ncuview("rules", PYTHONPATH=str(toy)).out
    poem, kept = tmp_path / "poem", tmp_path / "kept.json"
    ended = ncuview("analyze", RECORDED, "-o", f"fails:{poem}", "-o", kept, PYTHONPATH=str(toy))
    assert ended.code == 2
    assert "entry point 'fails'" in ended.err
    assert kept.exists()
    assert not poem.exists()
