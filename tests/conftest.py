"""Options and marks of all tests: golden files are rewritten on demand, GPU tests are skipped with a reason."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = Path(__file__).parent / "golden"
UNSAFE = {"LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH"}
"""Variables that no program with root's rights may take from a user."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="Write the golden files anew instead of comparing.")


def pytest_configure() -> None:
    """Predict by the shipped table, never by the user's, keep nothing, in child processes too; time no example.

    Bytecode is written even where the environment says otherwise: hundreds of child processes compile the same modules.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["XDG_CONFIG_HOME"] = str(GOLDEN / "no-such-folder")
    os.environ["XDG_STATE_HOME"] = os.environ["XDG_CACHE_HOME"] = f"{os.devnull}/nothing-is-kept"
    os.environ["PYCUDA_DISABLE_CACHE"] = "1"  # which would lie there too
    # Without a deadline: on a busy machine the same example takes ten times as long.
    # CI tries the same examples each time, so that it fails for what a commit changed; other runs try new ones.
    fixed = "CI" in os.environ
    settings.register_profile("few", deadline=None, max_examples=30, derandomize=fixed)
    settings.register_profile(
        "more", deadline=None, max_examples=100, derandomize=fixed
    )  # tests/nightly/test_properties.py
    settings.load_profile("few")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the sources, the labelled programs or a GPU where they are missing, and say what is missing."""
    if not (ROOT / "ncuview").is_dir():
        for item in items:
            if item.get_closest_marker("checkout"):
                item.add_marker(pytest.mark.skip(reason="a test of the checkout; here is the installed package alone"))
    if not (ROOT / "validation").is_dir():
        for item in items:
            if item.get_closest_marker("validation"):
                item.add_marker(pytest.mark.skip(reason="the labelled programs are in the repository alone"))
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    from ncuview.profiling.machine import missing_for_live

    if missing := missing_for_live():
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=str(missing)))


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the golden file of this name, or write it with ``--update-golden``."""

    def compare(name: str, text: str) -> None:
        file = GOLDEN / name
        if request.config.getoption("--update-golden"):
            file.write_text(text, encoding="utf-8")
        assert file.exists(), f"{file} is missing: pytest --update-golden writes it"
        assert text == file.read_text(encoding="utf-8"), "if this is meant, run pytest --update-golden"

    return compare


@pytest.fixture
def matches_snapshot(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare the diagnoses of a set of recorded launches with a snapshot, or write it with ``--update-golden``."""

    def compare(name: str, path: str) -> None:
        from tests.snapshot import parsed
        from tests.snapshot.groups import groups, page
        from tests.snapshot.recorded import SETS

        file, now = Path(__file__).parent / path, SETS[name]()
        if request.config.getoption("--update-golden"):
            file.write_text(str(now), encoding="utf-8")
        found = groups(parsed(file.read_text(encoding="utf-8")), now)
        assert not found, f"if this is meant, run pytest --update-golden and cite the groups:\n{page(found)}"

    return compare


@pytest.fixture
def sudo(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Make this process look as if sudo had started it for a user of this number."""

    def by(uid: str) -> None:
        monkeypatch.setattr("ncuview.profiling.privileges.os.geteuid", lambda: 0)
        monkeypatch.setenv("SUDO_UID", uid)
        for name in UNSAFE:
            monkeypatch.setenv(name, "")

    return by


@pytest.fixture
def private() -> Iterator[Path]:
    """A folder as runs get it: only this user may enter it, and all may enter its parent."""
    with tempfile.TemporaryDirectory(prefix="ncuview-") as folder:
        yield Path(folder)
