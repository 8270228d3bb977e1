"""Files that are not Python code are where the installed program looks for them."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from importlib.metadata import entry_points, version
from importlib.resources import files
from pathlib import Path
from typing import Any

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


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    builder = pytest.importorskip("hatchling.builders.sdist", reason="needs hatchling, which builds the sdist")
    return build(builder.SdistBuilder, ROOT, tmp_path_factory.mktemp("sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built as pip does it from a package index: from the unpacked sdist, without the checkout."""
    builder = pytest.importorskip("hatchling.builders.wheel", reason="needs hatchling, which builds the wheel")
    unpacked = tmp_path_factory.mktemp("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    (source,) = unpacked.iterdir()
    return build(builder.WheelBuilder, source, tmp_path_factory.mktemp("wheel"))


def build(builder: Any, source: Path, folder: Path) -> Path:
    return Path(next(builder(str(source)).build(directory=str(folder), versions=["standard"])))


def described() -> dict[str, Any]:
    """What pyproject.toml says."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def names_in(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def metadata_of(wheel: Path) -> email.message.Message:
    (name,) = (name for name in names_in(wheel) if name.endswith(".dist-info/METADATA"))
    with zipfile.ZipFile(wheel) as archive:
        return email.message_from_bytes(archive.read(name))


@pytest.mark.checkout
def test_a_wheel_that_the_sdist_builds_holds_all_that_the_program_looks_for(wheel: Path) -> None:
    names = names_in(wheel)
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
def test_an_sdist_holds_the_tests_and_not_the_labelled_programs(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        folders = {name.split("/")[1] for name in archive.getnames()}
    assert {"ncuview", "kernels", "rules", "tests", "benchmarks", "fuzz", "tools"} <= folders
    assert "validation" not in folders


@pytest.mark.checkout
def test_the_version_stands_in_one_place(wheel: Path) -> None:
    assert "version" not in described()["project"]
    assert described()["tool"]["hatch"]["version"]["path"] == "ncuview/base/version.py"
    assert metadata_of(wheel)["Version"] == ncuview.__version__


def test_the_installed_package_has_the_version_that_the_package_gives() -> None:
    assert version("ncuview") == ncuview.__version__, "pip install -e . again: the metadata is of an earlier version"


def test_the_command_gives_the_version_of_the_package() -> None:
    said = subprocess.run(
        [sys.executable, "-m", "ncuview", "--version"], capture_output=True, text=True, check=True
    ).stdout
    assert said == f"ncuview {ncuview.__version__}\n"


@pytest.mark.checkout
def test_the_extra_all_leaves_out_what_needs_a_toolkit_and_what_only_development_needs() -> None:
    extras = described()["project"]["optional-dependencies"]
    ((_, brought),) = (line.rstrip("]").split("[") for line in extras["all"])
    assert extras.keys() - {*brought.split(",")} == {"all", "gpu", "test", "dev"}


NOT_INSTALLED = """
import importlib.metadata, sys
def missing(name): raise importlib.metadata.PackageNotFoundError(name)
importlib.metadata.version = importlib.metadata.distribution = missing
sys.path.insert(0, sys.argv[1])
import ncuview
print(ncuview.__version__, ncuview.__file__)
"""


@pytest.mark.checkout
def test_a_checkout_that_is_not_installed_knows_its_version(tmp_path: Path) -> None:
    command = [sys.executable, "-P", "-c", NOT_INSTALLED, str(ROOT)]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert said.split() == [ncuview.__version__, str(ROOT / "ncuview" / "__init__.py")]


@pytest.mark.checkout
def test_pages_name_this_release() -> None:
    released = re.search(r"^## (\d+\.\d+\.\d+) ", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert released is not None
    assert released[1] == ncuview.__version__
    assert f"rev: v{ncuview.__version__}\n" in (ROOT / "docs" / "how-to" / "ci.md").read_text(encoding="utf-8")


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
