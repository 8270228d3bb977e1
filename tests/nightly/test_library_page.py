"""Every example of docs/how-to/library.md runs, in order, and prints what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

import ncuview
from ncuview.base.paths import shipped

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "how-to" / "library.md").read_text(encoding="utf-8")
BLOCK = re.compile(
    r"^(?P<gpu><!-- needs a GPU -->\n)?```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<printed>.*?)^```\n)?",
    re.MULTILINE | re.DOTALL,
)


def test_examples_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib = pytest.importorskip("matplotlib", reason="needs matplotlib, the extra ncuview[plot]")
    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kernels").symlink_to(shipped("kernels"))
    names: dict[str, object] = {}
    run = 0
    for block in BLOCK.finditer(PAGE):
        code = compile(block["code"], "docs/how-to/library.md", "exec")
        if block["gpu"]:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, names)
        assert printed.getvalue().rstrip() == (block["printed"] or "").rstrip()
        run += 1
    matplotlib.pyplot.close("all")
    assert run == PAGE.count("```python") - PAGE.count("<!-- needs a GPU -->")
    assert {path.name for path in tmp_path.glob("*.png")} == {"units.png", "ladder.png"}


def test_every_extra_of_the_page_exists() -> None:
    import tomllib

    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(re.findall(r"ncuview\[(\w+)\]", PAGE)) <= extras.keys()


def test_every_frame_and_plot_stands_on_the_page() -> None:
    shown = [name for name in ncuview.__all__ if name.startswith("plot_") or name.endswith("_frame")]
    assert all(f"`{name}`" in PAGE for name in shown)
