"""The page of a store: every part, self-contained, and inert whatever names say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ncuview import store
from ncuview.render.html_report.store_page import store_html
from ncuview.store.overview import overview
from tests.command_line import assert_failed, ncuview
from tests.hostile import HOSTILE
from tests.hostility.judges import check_html
from tests.store.small_store import SmallStore, of_day

EXACT = "smsp__inst_executed.sum"


def filled(folder: Path, kernel: str = "k") -> SmallStore:
    """A store with advice, calls, a change of a counter, kernels without counters, and a damaged report."""
    small = SmallStore(folder)
    named = {"kernel": kernel, "demangled": kernel, "function": kernel, "template_arguments": None}
    advised = {**named, "rule": "SMEM001", "optimization": "shared_memory_padding", "saved_ns": 500.0}
    blind = {"kernel": "blind", "function": "blind", "attained": None, "verdict": "not-judged"}
    for day, value in enumerate([100.0, 100.0, 120.0]):
        call = {"file": kernel, "line": 3, "function": "step", "launches": 1, "time_ns": 1_000.0}
        metrics = [{EXACT: value}, {}]
        small.add(advised, blind, metrics=metrics, calls=[call], launches=2, time_ns=2_000.0, **of_day(day))
    small.add(damage=f"block 3 is damaged {kernel}")
    return small


def page_of(small: SmallStore) -> str:
    with store.open(small.name) as opened:
        return store_html(overview(opened, 50))


def section(page: str, name: str) -> str:
    (found,) = re.findall(rf'<section[^>]*id="{name}".*?</section>', page, re.DOTALL)
    return " ".join(re.sub(r"<[^>]*>", " ", found).split())


def test_the_page_has_all_parts(tmp_path: Path) -> None:
    page = page_of(filled(tmp_path / "fleet"))
    assert "<h1>Store fleet</h1>" in page  # no folders
    assert "4 reports with 6 launches, 6 us of GPU time." in section(page, "summary")
    assert "NVIDIA H200; written 2026-03-01 to 2026-03-03." in section(page, "summary")
    assert "1 report could not be read completely." in section(page, "summary")
    assert "clocks locked, caches emptied, kernel replay" in section(page, "kernels")
    assert "k 3 3 us 50.0% 1.5 us SMEM001" in section(page, "kernels")
    assert "3 step" in section(page, "calls")
    assert "SMEM001 shared_memory_padding" in section(page, "advice")
    assert f"c1 c2 2026-03-03 {EXACT} 100 120 1.20x" in section(page, "changes")
    assert "blind" in section(page, "unjudged")
    assert "not judged" in section(page, "unjudged") or "no counters" in section(page, "unjudged")
    assert "block 3 is damaged k" in section(page, "damaged")


def test_parts_without_content_say_so(tmp_path: Path) -> None:
    small = SmallStore(tmp_path / "fleet")
    small.add({}, metrics=[{EXACT: 1.0}])
    page = page_of(small)
    assert section(page, "calls").endswith("No report has call stacks.")
    assert section(page, "advice").endswith("No rule has advice on a launch.")
    assert section(page, "damaged").endswith("No report is damaged.")
    assert "1 kernel without a change" in section(page, "changes")


def test_nothing_comes_from_elsewhere(tmp_path: Path) -> None:
    page = page_of(filled(tmp_path / "fleet"))
    assert "default-src 'none'" in page
    assert not re.findall(r"(?:src|href)=\"(?!#|data:,)", page)


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_names_are_text(text: str, tmp_path: Path) -> None:
    safe = text.encode("utf-8", "replace").decode()  # what a store holds
    page = page_of(filled(tmp_path / "fleet", safe))
    check_html(page)


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    small, file = filled(tmp_path / "fleet"), tmp_path / "page.html"
    ended = ncuview("store", "page", "--from", small.name, "-o", file)
    assert (ended.code, ended.out) == (0, "")
    assert file.read_text(encoding="utf-8") == page_of(small)
    assert_failed(ncuview("store", "page", "--from", small.name, "-o", tmp_path / "x.pdf"), 2, "must end in .html")
