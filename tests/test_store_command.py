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


def test_what_was_done_is_a_document_too(tmp_path: Path) -> None:
    bad, text = tmp_path / "bad.ncu-rep", tmp_path / "x.json"
    bad.write_bytes(b"NVR\x00")
    text.write_text("{}")
    words = ("store", "add", TRANSFERS, bad, text, "--to", tmp_path / "s", "--processes", "1", "--format", "json")
    first, again = ncuview(*words), ncuview(*words)
    assert (first.code, again.code) == (3, 3)
    assert (first.document["schema"], first.document["complete"]) == ("ncuview.store-addition/1", False)
    names = {each["name"]: each for each in first.document["added"]}
    assert names["h200.ncu-repz"]["launches"] > 0 == names["bad.ncu-rep"]["launches"]
    assert names["bad.ncu-rep"]["damage"]
    assert (names["h200.ncu-repz"]["damage"], first.document["known"]) == (None, [])
    assert [Path(each["file"]).name for each in first.document["refused"]] == ["x.json"]
    contents = [{each["content"] for each in found} for found in (again.document["known"], first.document["added"])]
    assert contents[0] == contents[1]


def test_an_unknown_format_is_refused_before_anything_is_added(tmp_path: Path) -> None:
    words = ("store", "add", TRANSFERS, "--to", tmp_path / "s", "--format", "jsn")
    assert_failed(ncuview(*words), 2, "unknown format")
    assert not (tmp_path / "s").exists()


def test_further_rules_judge_too(tmp_path: Path) -> None:
    rule = next(shipped("rules").rglob("FLOW001-*.toml")).read_text()
    folder = tmp_path / "rules" / "mine"
    folder.mkdir(parents=True)
    (folder / "MINE001-my-branch.toml").write_text(
        rule.replace('"FLOW001"', '"MINE001"').replace('"divergent-branch"', '"my-branch"')
    )
    words = ("store", "add", shipped("kernels") / "divergence", "--processes", "1", "--to")
    added = ncuview(*words, tmp_path / "s", "--rules", tmp_path / "rules")
    assert added.code == 0, added.err
    with store.open(tmp_path / "s") as opened:
        found = {rule for (rule,) in opened.sql("SELECT DISTINCT rule FROM findings").fetchall()}
    assert {"FLOW001", "MINE001"} <= found
    assert_failed(ncuview(*words, tmp_path / "t", "--rules", tmp_path / "none"), 2, "is no folder")
