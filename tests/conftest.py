"""Options and marks of all tests: golden files are rewritten on demand, GPU tests are skipped with a reason."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="Write the golden files anew instead of comparing.")
    parser.addoption("--exhaustive", action="store_true", help="Test on every recorded report, not on a part of them.")


def pytest_configure() -> None:
    """Predict by the shipped table, not by that of whoever runs the tests, in child processes too; time no example."""
    os.environ["XDG_CONFIG_HOME"] = str(GOLDEN / "no-such-folder")
    settings.register_profile("untimed", deadline=None)  # on a busy machine the same example takes ten times as long
    settings.load_profile("untimed")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, and skip what needs a GPU where this machine lacks something, and say what."""
    if not config.getoption("--exhaustive"):
        long = [item for item in items if item.get_closest_marker("exhaustive")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if not item.get_closest_marker("exhaustive")]
    marked = [item for item in items if item.get_closest_marker("gpu")]
    if not marked:
        return
    from ncuview.collect.machine import missing_for_live

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
        from tests.snapshot.recorded import recorded_snapshot

        file, now = Path(__file__).parent / path, recorded_snapshot(name)
        if request.config.getoption("--update-golden"):
            file.write_text(str(now), encoding="utf-8")
        found = groups(parsed(file.read_text(encoding="utf-8")), now)
        assert not found, f"if this is meant, run pytest --update-golden and cite the groups:\n{page(found)}"

    return compare
