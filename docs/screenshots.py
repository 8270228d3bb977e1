"""Take the pictures of docs/report from the recorded profiles: ``python -m docs.screenshots``.

Needs Chromium on the PATH and ``pip install 'ncuview[browser]'``. Where Pillow is installed, a picture has 256 colours
and a fraction of the size.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "report"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")
WIDTH = 1280
_TRANSPOSE = ("analyze", "kernels/transpose/h200.ncu-repz")
"""The command of the tutorial; that of the ladder is the README's."""


def main() -> None:
    """Write each page with its command, and take its picture."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        sys.exit(f"needs one of {', '.join(BROWSERS)} on the PATH")
    with TemporaryDirectory() as folder, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        for picture in PICTURES:
            page = Path(folder) / f"{picture.name}.html"
            command = [sys.executable, "-m", "ncuview", *picture.command, "--output", str(page)]
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
            tab = browser.new_page(viewport={"width": WIDTH, "height": picture.height}, color_scheme=picture.colors)
            tab.goto(page.as_uri())
            picture.prepare(tab)
            target = FOLDER / f"{picture.name}.png"
            tab.screenshot(path=target)
            _reduce_colours(target)
        browser.close()


@dataclass(frozen=True)
class Picture:
    """A part of a page.

    Attributes:
        name: The name of its file, without the ending.
        command: The words of ``ncuview`` that write the page.
        colors: The colour scheme.
        height: The height in pixels; all are as wide.
        prepare: Opens and scrolls to what is shown.
    """

    name: str
    command: tuple[str, ...]
    colors: Literal["light", "dark"]
    height: int
    prepare: Callable[[Page], object]


def _top(_: Page) -> None:
    """The beginning of the page is shown as it opens."""


def _kernel(tab: Page) -> None:
    """One kernel with its details and its source."""
    tab.get_by_role("searchbox").fill("transposeCoalesced")
    tab.get_by_role("button", name="transposeCoalesced", exact=True).click()
    tab.get_by_text("Every line: waste, executed instructions, samples").click()
    _scroll_to(tab, "kernels")


def _ladder(tab: Page) -> None:
    _scroll_to(tab, "ladders")


def _scroll_to(tab: Page, section: str) -> None:
    """The section's title comes right below the bar of the page."""
    place = "document.getElementById(section + '-title').getBoundingClientRect().top"
    bar = "document.querySelector('.top').getBoundingClientRect().height"
    tab.evaluate(f"(section) => window.scrollBy(0, Math.round({place} - {bar} - 16))", section)


def _reduce_colours(picture: Path) -> None:
    with suppress(ImportError):
        from PIL import Image

        Image.open(picture).convert("RGB").quantize(256).save(picture, optimize=True)


PICTURES = (
    Picture("light", _TRANSPOSE, "light", 1000, _top),
    Picture("dark", _TRANSPOSE, "dark", 1250, _kernel),
    Picture("ladder", ("ladder", "transpose", "--recorded"), "light", 1500, _ladder),
)


if __name__ == "__main__":
    main()
