"""``ncuview store add`` as users meet it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview import store
from ncuview.base.paths import shipped
from tests.command_line import assert_failed, ncuview

TRANSFERS = shipped("kernels") / "transfers"


def test_reports_are_added_once_and_damaged_ones_named(tmp_path: Path) -> None:
    fleet, bad = tmp_path / "fleet", tmp_path / "bad.ncu-rep"
    bad.write_bytes(b"NVR\x00")
    first = ncuview("store", "add", TRANSFERS, "--to", fleet, "--label", "commit=4f2a91c", "--processes", "1")
    assert first.code == 0, first.err
    assert first.out.startswith(f"{fleet}: 1 report added with ")
    assert "1 of 1 new reports are done" in first.err
    again = ncuview("store", "add", TRANSFERS, bad, "--to", fleet, "--processes", "1")
    assert again.code == 3
    assert "1 there already" in again.out
    assert "bad.ncu-rep" in again.out
    with store.open(fleet) as opened:
        assert opened.sql("SELECT DISTINCT labels['commit'] FROM reports WHERE damage IS NULL").fetchall() == [
            ("4f2a91c",)
        ]


@pytest.mark.parametrize("word", ["commit", "=x", " =x"])
def test_a_label_is_a_name_and_a_text(word: str, tmp_path: Path) -> None:
    assert_failed(ncuview("store", "add", TRANSFERS, "--to", tmp_path, "--label", word), 2, "a label is")


def test_a_folder_without_reports_is_refused(tmp_path: Path) -> None:
    assert_failed(ncuview("store", "add", tmp_path, "--to", tmp_path / "s"), 3, "holds no report")


def test_a_cluster_has_processes_of_its_own(tmp_path: Path) -> None:
    words = ("--processes", "2", "--scheduler", "tcp://127.0.0.1:1")
    assert_failed(ncuview("store", "add", TRANSFERS, "--to", tmp_path / "s", *words), 2, "exclude each other")
