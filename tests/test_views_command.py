"""Views on the command line: a first answer, a second that opens one launch, a third with one finding."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ncuview.api import analyze, view
from ncuview.base.errors import NcuRefused
from ncuview.cli.inputs import Inputs
from ncuview.cli.outputs import errors_written
from ncuview.cli.views import chosen_view
from tests.command_line import RECORDED, ncuview
from tests.render.schema import problems
from tests.together import together

VIEW = ("--format", "json", "--view")


def test_a_skeleton_then_a_launch_then_its_finding() -> None:
    first = ncuview("analyze", RECORDED, *VIEW, "skeleton", "--max-bytes", "12000")
    assert (first.code, len(first.out.encode()) <= 12_000) == (0, True), first.err
    assert not problems(first.document, "view")
    groups = first.document["skeleton"]["groups"]
    padded = next(each for each in groups["items"] if each["kernel"] == "transposeCoalesced")
    opened = ncuview("analyze", RECORDED, *VIEW, "launch", "--key", padded["key"]).document
    assert opened["launch"]["advice"]["where"].endswith("transposeCoalesced.cu:72")
    key = opened["launch"]["advice"]["key"]
    found = ncuview("analyze", RECORDED, "--format", "brief", "--view", "finding", "--key", key, "--no-cache")
    assert found.code == 0
    assert f"Finding {key} of " in found.out
    assert "| + __shared__ float tile[TILE_DIM][TILE_DIM + 1];" in found.out
    assert "Check: shared_bank_conflict_ways falls from 16.5 to 1.0" in found.out


def test_a_cursor_continues_alone_and_in_the_library_too() -> None:
    first = view(analyze(RECORDED))["skeleton"]["groups"]
    more = ncuview("analyze", RECORDED, "--format", "json", "--cursor", first["cursor"]).document["skeleton"]["groups"]
    assert more["shown"] + first["shown"] <= first["total"]
    assert not {each["key"] for each in more["items"]} & {each["key"] for each in first["items"]}


def test_the_keys_of_a_chosen_kernel_are_those_of_the_report() -> None:
    chosen = ncuview("analyze", RECORDED, "-k", "transposeCoalesced", *VIEW, "launch").document["launch"]["key"]
    assert ncuview("analyze", RECORDED, *VIEW, "launch", "--key", chosen).document["launch"]["key"] == chosen


def test_the_text_is_within_its_limit_and_files_are_written_beside_it(tmp_path: Path) -> None:
    ended = ncuview("analyze", RECORDED, "--format", "brief", "-o", tmp_path / "all.json")
    assert ended.code == 0
    assert ended.out.startswith("ncuview skeleton of document ")
    assert len(ended.out.encode()) <= 6_000
    assert json.loads((tmp_path / "all.json").read_text())["schema"] == "ncuview.diagnosis/2"


@together(
    "words, said",
    [
        (["--view", "launch"], "--view is for --format brief and --format json"),
        (["--format", "html", "--cursor", "x"], "--cursor is for --format brief and --format json"),
        (["--format", "brief", "--max-bytes", "32769"], "--max-bytes 32769 is above 32768"),
        (["--format", "json", "--max-bytes", "0"], "--max-bytes 0 is below 5000"),
        (["--format", "brief", "--view", "all"], "'all'"),
        (["--format", "breif"], "Did you mean brief"),
        (["--format", "brief", "--cursor", "x"], "--cursor x: no cursor"),
        (["--format", "brief", "--view", "launch", "--key", "7-x"], "no launch has the key '7-x'"),
        (["--format", "brief", "--diff"], "--diff prints another answer than a view"),
        (["--format", "brief", "--top", "3"], "--top prints another answer than a view"),
        (["--format", "brief", "--no-counters"], "--no-counters prints another answer than a view"),
    ],
)
def test_what_goes_not_together_is_refused(words: list[str], said: str) -> None:
    ended = ncuview("analyze", RECORDED, *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_refused_counters_are_an_error_of_the_view(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a view the report without counters is printed, which has no limit."""
    written = chosen_view("brief", None, "", "", None)
    refused = NcuRefused("ncu may not read the counters", hint="Ask the administrator.", id="NCU-PERM")
    with pytest.raises(NcuRefused), errors_written(Inputs(program=("a.out",)), "brief", (), written):
        raise refused
    assert 'Incomplete [NCU-PERM]: "ncu may not read the counters"' in capsys.readouterr().out


@pytest.mark.parametrize("words", [["--format", "brief"], [*VIEW, "launch"]])
def test_an_error_is_an_answer_too(words: list[str], tmp_path: Path) -> None:
    ended = ncuview("analyze", tmp_path / "none.ncu-rep", *words)
    assert ended.code != 0
    assert "does not exist" in ended.err
    if words[1] == "json":
        assert not problems(ended.document, "view")
        assert ended.document["error"]["id"] == "ReportUnreadable"
    else:
        assert "Incomplete [ReportUnreadable]" in ended.out
