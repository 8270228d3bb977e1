"""Every format: chosen by name or ending, made from any answer, and written atomically."""

from __future__ import annotations

import json
import os
import re
import stat
import tracemalloc
from dataclasses import replace
from io import BytesIO
from math import inf, nan
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ncuview.base.errors import UsageError
from ncuview.comparison.compare import Comparison, compare
from ncuview.records.diagnosis import Diagnosis, TextbookMetric
from ncuview.render import outputs
from ncuview.render.outputs import FORMATS, destination, format_of, output_parts, output_text, write_output
from tests.hostile import each_hostile_text, poisoned
from tests.render.gate_sample import gate, poisoned_gate
from tests.render.sample import diagnosis, ladder, launch_with_advice

OWN_TESTS = {"html"}
"""Formats that a package of their own makes."""
OURS = [name for name in FORMATS if name not in OWN_TESTS]
each_format = pytest.mark.parametrize("to", OURS)


@pytest.mark.parametrize(
    ("name", "to"),
    [
        ("a.txt", "terminal"),
        ("a.json", "json"),
        ("a.b.md", "markdown"),
        ("a.XML", "junit"),
        ("a.sarif", "sarif"),
        ("a.html", "html"),
        ("a.csv", "csv"),
        ("a.parquet", "parquet"),
        ("a.prom", "openmetrics"),
        ("a.om", "openmetrics"),
        ("gl-code-quality-report.json", "gitlab"),
    ],
)
def test_the_ending_says_the_format(name: str, to: str) -> None:
    assert format_of(Path("out", name)) == to


@pytest.mark.parametrize("name", ["a", "a.doc", ".json", "json", "a.json.gz"])
def test_other_endings_are_refused_and_the_known_ones_named(name: str) -> None:
    with pytest.raises(UsageError, match=r"\.sarif") as refused:
        format_of(Path(name))
    assert "gitlab:FILE" in refused.value.hint


def test_no_two_formats_share_an_ending() -> None:
    endings = [ending for each in FORMATS.values() for ending in each.endings]
    assert len(endings) == len(set(endings))


def test_a_format_before_the_file_counts_more_than_its_ending(tmp_path: Path) -> None:
    assert destination(f"gitlab:{tmp_path}/q.json") == ("gitlab", tmp_path / "q.json")
    assert destination(f"summary:{tmp_path}/no_ending") == ("summary", tmp_path / "no_ending")
    assert destination(f"{tmp_path}/q.json") == ("json", tmp_path / "q.json")


def test_a_colon_in_a_name_is_no_format(tmp_path: Path) -> None:
    assert destination(f"{tmp_path}/run:1.json") == ("json", tmp_path / "run:1.json")


@pytest.mark.parametrize("word", ["missing/a.json", "json:", ".", "json:."])
def test_what_cannot_be_written_is_refused_before_any_work(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError):
        destination(word)


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(UsageError, match="'docx'"):
        output_text(diagnosis(), None, "docx")


@each_format
def test_every_format_shows_a_diagnosis_a_ladder_and_nothing(to: str) -> None:
    for answer in (diagnosis(), ladder(), Diagnosis((), ())):
        content = output_text(answer, None, to)
        assert isinstance(content, bytes) == FORMATS[to].binary


def test_a_page_for_browsers_is_of_any_answer() -> None:
    for answer in (diagnosis(), ladder(), compare(diagnosis(), diagnosis())):
        page = output_text(answer, None, "html")
        assert isinstance(page, str)
        assert page.startswith("<!DOCTYPE html>")
        assert ('id="ladders"' in page, 'id="changes"' in page) == (answer == ladder(), isinstance(answer, Comparison))


@each_format
def test_a_comparison_is_shown_or_refused(to: str) -> None:
    comparison = compare(diagnosis(), diagnosis())
    if FORMATS[to].compares:
        assert output_text(comparison, None, to)
    else:
        with pytest.raises(UsageError, match="does not show a comparison"):
            output_text(comparison, None, to)


@each_format
def test_the_same_answer_gives_the_same_bytes(to: str) -> None:
    assert output_text(diagnosis(), gate(), to) == output_text(diagnosis(), gate(), to)


@pytest.mark.parametrize("to", [name for name in OURS if name != "terminal"])
def test_no_output_holds_nan_or_infinity(to: str) -> None:
    first = replace(
        launch_with_advice(),
        duration_ns=nan,
        attained=nan,
        units={"dram": nan, "l2": inf, "l1_data": 1.7},
        metrics={
            "a": TextbookMetric(nan, "%", "x"),
            "b": TextbookMetric(-inf, "%", "x"),
            "c": TextbookMetric(-3.5, "%", "x"),
        },
    )
    answer = Diagnosis((first, replace(first, index=1, duration_ns=5.0)), diagnosis().reports)
    content = output_text(answer, None, to)
    if isinstance(content, str):
        assert not re.search(r"(?<![A-Za-z])(nan|inf|infinity)(?![A-Za-z])", content, re.IGNORECASE)
    else:
        table = pd.read_parquet(BytesIO(content))
        assert table["duration_ns"].isna().to_list() == [True, False]
        assert not np.isinf(table.select_dtypes("float64").to_numpy()).any()


@each_hostile_text
def test_no_output_holds_a_control_character(text: str) -> None:
    answer = poisoned(diagnosis(), text)
    for to in OURS:
        content = output_text(answer, poisoned_gate(text), to)
        if isinstance(content, bytes):
            content = "\n".join(map(str, pd.read_parquet(BytesIO(content)).to_numpy().ravel()))
        assert not {letter for letter in content if letter < " " and letter != "\n"}, to
        assert not {letter for letter in content if "\x7f" <= letter <= "\x9f" or letter in "\u202e\u2066\u2028"}, to


def test_a_file_is_replaced_and_no_temporary_file_is_left(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_text("old")
    write_output(target, "new \N{LATIN SMALL LETTER E WITH ACUTE}")
    assert target.read_bytes() == b"new \xc3\xa9"
    write_output(target, b"\0\1")
    assert target.read_bytes() == b"\0\1"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_what_was_there_survives_a_failure(call: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.json"
    target.write_text("old")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, call, full)
    if call == "replace":
        monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match="No space left on device"):
        write_output(target, "new")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_an_interrupt_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_output(tmp_path / "a.json", "new")
    assert not list(tmp_path.iterdir())


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_output(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    write_output(tmp_path / "a.json", "new")
    (tmp_path / "usual").touch()
    assert (tmp_path / "a.json").stat().st_mode == (tmp_path / "usual").stat().st_mode


@each_format
def test_the_parts_make_the_complete_text(to: str, tmp_path: Path) -> None:
    whole, parts = output_text(diagnosis(), gate(), to), output_parts(diagnosis(), gate(), to)
    write_output(tmp_path / "a", parts)
    assert (tmp_path / "a").read_bytes() == (whole if isinstance(whole, bytes) else whole.encode())


def test_json_of_many_launches_is_never_in_memory_as_one_text(tmp_path: Path) -> None:
    many = Diagnosis(tuple(replace(launch_with_advice(), index=index) for index in range(500)), diagnosis().reports)
    peaks = []
    for name in ("b.json", "a.json"):  # in one of them Python's own table of names may grow, by 2 MB
        tracemalloc.start()
        try:
            write_output(tmp_path / name, output_parts(many, None, "json"))
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert min(peaks) < (tmp_path / "a.json").stat().st_size / 4
    assert len(json.loads((tmp_path / "a.json").read_text())["launches"]) == 500


def test_text_that_fails_half_way_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "a.json"
    target.write_text("old")
    bad = replace(launch_with_advice(), units={"dram": 0.5}, textbook=(nan,))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_output(target, output_parts(Diagnosis((launch_with_advice(), bad), ()), None, "json"))
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("content", ["new", b"new", ("n", "ew")], ids=["text", "bytes", "parts"])
def test_what_is_no_regular_file_is_written_directly(content: str | bytes | tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    write_output(Path(f"/dev/fd/{writing}"), content)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b"new"
    write_output(Path(os.devnull), content)
    assert stat.S_ISCHR(Path(os.devnull).stat().st_mode)


def test_a_folder_that_is_gone_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot be written: No such file"):
        write_output(tmp_path / "gone" / "a.json", "new")


def test_the_registry_needs_no_heavy_library() -> None:
    from tests.test_architecture import loaded_by

    assert outputs.__name__ == "ncuview.render.outputs"
    assert not loaded_by("import ncuview.render.outputs") & {"pandas", "numpy", "pydantic", "rich", "lxml", "pyarrow"}
