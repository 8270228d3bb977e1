"""Files that are not Python code are where the installed program looks for them."""

from __future__ import annotations

import tomllib
from importlib.metadata import entry_points, version
from importlib.resources import files
from pathlib import Path

import pytest

import ncuview
from ncuview.base.paths import shipped
from ncuview.gpus import DEFAULT, shipped_tables

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    ("package", "name"),
    [
        ("ncuview.render.html_report", "page.js"),
        ("ncuview.render.html_report", "page.css"),
        ("ncuview.gpus", "h200.toml"),
        ("ncuview.gpus", "default.toml"),
        ("ncuview.metrics", "textbook_metrics.csv"),
    ],
)
def test_data_files_lie_in_the_package(package: str, name: str) -> None:
    assert files(package).joinpath(name).read_text(encoding="utf-8")


def test_the_tables_of_gpus_can_be_parsed() -> None:
    assert DEFAULT in shipped_tables()


@pytest.mark.parametrize(
    ("folder", "pattern"), [("kernels", "*/*.cu"), ("kernels", "*/*.ncu-repz"), ("rules", "*/*.toml")]
)
def test_kernels_profiles_and_rules_are_found(folder: str, pattern: str) -> None:
    assert list(shipped(folder).glob(pattern))


def test_an_installed_package_is_preferred_to_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "ncuview" / "_shipped" / "rules").mkdir(parents=True)
    (tmp_path / "kernels").mkdir()
    monkeypatch.setattr("ncuview.base.paths._PACKAGE", tmp_path / "ncuview")
    assert shipped.__wrapped__("rules") == tmp_path / "ncuview" / "_shipped" / "rules"
    assert shipped.__wrapped__("kernels") == tmp_path / "kernels"


@pytest.mark.checkout
def test_a_wheel_holds_all_that_the_program_looks_for(tmp_path: Path) -> None:
    wheel = pytest.importorskip("hatchling.builders.wheel", reason="needs hatchling, which builds the wheel")
    zipfile = pytest.importorskip("zipfile")
    built = next(wheel.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
    names = set(zipfile.ZipFile(built).namelist())
    for folder, pattern in (("kernels", "*/*.*"), ("rules", "**/*.toml")):
        expected = {f"ncuview/_shipped/{path.relative_to(ROOT)}" for path in (ROOT / folder).glob(pattern)}
        assert expected <= names
    code = {
        str(path.relative_to(ROOT)) for path in (ROOT / "ncuview").glob("**/*.*") if "__pycache__" not in path.parts
    }
    assert code <= names
    assert not [
        name for name in names if name.startswith(("tests/", "docs/", "benchmarks/", "fuzz/", "tools/", "validation/"))
    ]


@pytest.mark.checkout
def test_an_sdist_holds_the_tests_and_not_the_labelled_programs(tmp_path: Path) -> None:
    sdist = pytest.importorskip("hatchling.builders.sdist", reason="needs hatchling, which builds the sdist")
    tarfile = pytest.importorskip("tarfile")
    with tarfile.open(next(sdist.SdistBuilder(str(ROOT)).build(directory=str(tmp_path)))) as built:
        folders = {name.split("/")[1] for name in built.getnames()}
    assert {"ncuview", "kernels", "rules", "tests", "benchmarks", "fuzz", "tools"} <= folders
    assert "validation" not in folders


def test_the_version_is_written_once() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["version"] == ncuview.__version__ == version("ncuview")


def test_the_command_is_installed() -> None:
    (command,) = entry_points(group="console_scripts", name="ncuview")
    assert command.value == "ncuview.cli:run"


@pytest.mark.parametrize("name", ncuview.__all__)
def test_every_public_name_exists(name: str) -> None:
    assert getattr(ncuview, name)
    assert name in dir(ncuview)


def test_a_name_that_is_not_public_does_not_exist() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = ncuview.nonsense
