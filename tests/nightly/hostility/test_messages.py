"""Messages other than answers: errors, progress, patches and plots, with every hostile text."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from typing import Any

import pytest
from lxml import etree

from ncuview.cli.printing import ProgressDisplay, print_error, print_message, print_unchanged
from ncuview.profiling.ncu_output import Progress
from ncuview.render.plots import plot_ladder, plot_units
from ncuview.render.text import safe_text, without_ci_commands
from tests.hostile import PAYLOADS, each_payload
from tests.hostility.judges import check_log, check_text
from tests.hostility.places import answers_in


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@each_payload
def test_complaints_are_inert(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    print_error(f"{text}\n{text} is damaged\n  {text}", text)
    print_message(safe_text(text))
    check_log(capsys.readouterr().err)


@each_payload
def test_progress_is_inert(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as progress:
        progress.show(Progress(text, 0, None, 0.1))
        progress.show(Progress(text, 0, 8, 1.5))
    check_log(capsys.readouterr().err)


@each_payload
def test_progress_on_a_terminal_rewrites_one_line_and_nothing_else(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with ProgressDisplay() as progress:
        progress.show(Progress(text, 0, 8, 1.5))
    check_text(stream.getvalue().replace("\r\x1b[K", ""))
    assert stream.getvalue().count("\x1b") == 2


def printed(text: str, monkeypatch: pytest.MonkeyPatch) -> bytes:
    output = BytesIO()
    monkeypatch.setattr(sys, "stdout", TextIOWrapper(output))
    print_unchanged(text)
    return output.getvalue()


def test_a_patch_is_printed_exactly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert printed("-a\udcff\x1b\n ::error::x\n", monkeypatch) == b"-a\xff\x1b\n ::error::x\n"


def test_a_patch_goes_to_whatever_takes_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    output = io.StringIO()
    monkeypatch.setattr(sys, "stdout", output)
    print_unchanged("-a\n+b\n")
    assert output.getvalue() == "-a\n+b\n"


def test_github_obeys_no_line_of_a_patch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    patch = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-a\n+b\n ::error::x\n"
    first, *lines, last = printed(patch, monkeypatch).decode().splitlines()
    token = re.fullmatch("::stop-commands::([0-9a-f]{32,})", first)
    assert token
    assert "\n".join(lines) + "\n" == patch
    assert last == f"::{token[1]}::"
    assert printed(" a\n", monkeypatch) == b" a\n"


@each_payload
def test_a_patch_on_a_terminal_is_inert(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    print_unchanged(f" {text}\n-a\n")
    check_log(stream.getvalue())


@each_payload
def test_pages_without_orders_stay_so(text: str) -> None:
    page = without_ci_commands(safe_text(text))
    check_log(page)
    assert without_ci_commands(page) == page


@pytest.fixture
def _no_figure_stays() -> Iterator[None]:
    from matplotlib import pyplot as plt

    yield
    plt.close("all")


PLOTTED = ["function name", "device name", "unit's name", "rule's optimization"]
"""Places that plots show."""


@pytest.mark.filterwarnings("ignore:Glyph", "ignore:constrained_layout")
@pytest.mark.usefixtures("_no_figure_stays")
@pytest.mark.parametrize("place", PLOTTED)
def test_plots_are_sound_pictures_without_markup_of_others(place: str) -> None:
    plots = pytest.importorskip("matplotlib", reason="needs matplotlib, the extra ncuview[plot]")
    plots.use("Agg")
    usual = {etree.QName(node).localname for node in picture("function name", ["kernel"]).iter() if is_element(node)}
    shorter = [text[:200] for text in PAYLOADS.values()]
    for at in range(0, len(shorter), 46):
        for node in picture(place, shorter[at : at + 46]).iter():
            assert not is_element(node) or etree.QName(node).localname in usual
            assert not any(name[:2] == "on" for name in node.attrib if isinstance(name, str))


def is_element(node: etree._Element) -> bool:
    return isinstance(node.tag, str)


def picture(place: str, shown: list[str]) -> etree._Element:
    """Both plots of launches with these texts, as SVG with its texts as texts, read strictly."""
    import matplotlib as mpl
    from matplotlib import pyplot as plt

    root = etree.Element("both")
    (answers,) = answers_in(place, shown)
    with mpl.rc_context({"svg.fonttype": "none"}):
        for axes in (plot_units(answers.diagnosis), plot_ladder(answers.ladder)):
            figure: Any = axes.figure
            output = BytesIO()
            figure.savefig(output, format="svg")
            plt.close(figure)
            check_text(output.getvalue().decode())
            root.append(etree.fromstring(output.getvalue(), etree.XMLParser(resolve_entities=False, no_network=True)))
    return root
