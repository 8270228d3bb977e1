"""The scripts that check trials on a GPU: which targets they have, and that a wrong edit would be seen as kept."""

from __future__ import annotations

import fcntl
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ncuview.patch import Edit, changes_for
from ncuview.trial.verify import Answer
from tests.emulation import needs_gpp
from tests.trial.emulated import process, reload_of, tools
from tests.trial.seeds import original
from validation.trial import on_gpus
from validation.trial.choose import FINISHED, FURTHER, MEASURED, NAIVE, source_of
from validation.trial.figures import HERE, figures, sections
from validation.trial.mistakes import WrongEdit, original_of, wrong_edits
from validation.trial.run import ATTEMPT, COLUMNS, listed_targets, taking_turns
from validation.trial.tables import append, rows_of
from validation.trial.wrong import COLUMNS as WRONG
from validation.trial.wrong import KEPT, NO_RESULT, NOT_KEPT, Watched, checked, summary

pytestmark = pytest.mark.checkout


def test_there_are_targets_and_at_most_twenty_of_the_catalogue() -> None:
    targets = listed_targets()
    assert len(targets) == len(set(targets)) == 61 + FURTHER + MEASURED
    catalogue = [target for target in targets if "/" not in target]
    assert len(catalogue) <= 20
    assert set(NAIVE) <= set(catalogue)
    for target in targets:
        path, kernel = source_of(target)
        assert kernel in path.read_text(encoding="utf-8")


def test_thirty_targets_are_finished() -> None:
    parts = Counter(sections().values())
    assert parts["finished, as their authors say"] == FINISHED == 10
    assert parts["finished, as measured"] == MEASURED == 20


def test_rows_are_appended_below_one_line_of_columns(tmp_path: Path) -> None:
    file = tmp_path / "trials.tsv"
    assert rows_of(file) == []
    for target in ("mmul", "p003/k03b"):
        append(file, ("target", "oracle"), [(target, "WRONG:\ta\nlong reason")])
    assert rows_of(file) == [{"target": target, "oracle": "WRONG: a long reason"} for target in ("mmul", "p003/k03b")]


@pytest.mark.parametrize(("deadline", "begun"), [(300.0, 2), (1.0, 0)])
def test_each_gpu_takes_the_next_target_until_the_deadline(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], deadline: float, begun: int
) -> None:
    smi = tmp_path / "nvidia-smi"
    smi.write_text("#!/bin/sh\necho 'GPU 0: A'; echo 'GPU 1: B'\n")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    append(tmp_path / "trials.tsv", COLUMNS, [("mmul", *"1234567890abcd")])
    on_gpus.main(tmp_path, ["mmul", "k1", "p003/none"], deadline=deadline)
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == f"{2 - begun} targets were not begun"
    assert len([line for line in said if re.match("GPU [01]: .", line)]) == begun == len(said) - 1


def test_the_page_counts_what_was_tried() -> None:
    assert set(sections()) == set(listed_targets())
    rows = {
        "mmul": ("15", "1", "0", "0", "4.000", "70", "", "right", "4027eb29", "advice", "0.990", "", "45", "0"),
        "reduce_v1": ("1", "0", "1", "0", "", "190", "the time is up", "", "", "", "", "", "", ""),
        "p011/k11b": ("0", "0", "0", "0", "", "10", "", "", "", "near-peak", "0.966", "", "", ""),
    }
    kept = ("mmul", "0", "GMEM006", "register_tiling", "kept", "4.000", "", "4.400", "Compute 8 x 8 results", "")
    page = figures(
        [dict(zip(COLUMNS, (target, *row), strict=True)) for target, row in rows.items()],
        [dict(zip(ATTEMPT, kept, strict=True))],
    )
    total = next(line for line in page.splitlines() if line.startswith("| all "))
    cells = [cell.strip() for cell in total.split("|")]
    assert cells[2:4] == ["3", "16"]
    assert cells[4].startswith("2 of 3")
    assert cells[6:10] == ["0", "2.50", "2.00", "70"]
    assert cells[10:12] == ["190", "1"]
    title = "near their peak, as their report says"
    (near_peak,) = (line for line in page.splitlines() if line.startswith(f"| {title} | 1 | 0 |"))
    assert "0 of 1" in near_peak
    assert "Within 1.10x: 1 of 1." in page


def test_the_committed_page_is_that_of_the_tables() -> None:
    made = figures(rows_of(HERE / "trials.tsv"), rows_of(HERE / "attempts.tsv"))
    assert (HERE / "trials.md").read_text(encoding="utf-8") == made


def may_begin(file: Path, kind: int) -> bool:
    with file.open("a") as other:
        try:
            fcntl.flock(other, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_what_is_timed_runs_alone_and_comparisons_together(tmp_path: Path) -> None:
    file = tmp_path / "turns"
    with taking_turns(file, "comparison"):
        assert (may_begin(file, fcntl.LOCK_SH), may_begin(file, fcntl.LOCK_EX)) == (True, False)
    with taking_turns(file, "counters"):
        assert (may_begin(file, fcntl.LOCK_SH), may_begin(file, fcntl.LOCK_EX)) == (False, False)
    with taking_turns(file, "compile"), taking_turns(None, "times"):
        assert may_begin(file, fcntl.LOCK_EX)


def maker_edit(kernel: str) -> Edit:
    """The first edit that a maker writes for a kernel without a finding."""
    source = original(kernel).kernel.path.read_text(encoding="utf-8")
    return next(edit for _, edit in changes_for(source, f"{kernel}.cu", kernel, None) if isinstance(edit, Edit))


@needs_gpp
def test_a_right_edit_would_be_seen_as_kept(tmp_path: Path) -> None:
    kernel, edit = original("transposeNaive").kernel, maker_edit("transposeNaive")
    wrong = WrongEdit("transposeNaive", edit.title, "none", 0, edit)
    found = checked(wrong, kernel, reload_of(kernel), tmp_path, tools(process))
    assert (found.verdict, found.one) == ("verified", KEPT)


@needs_gpp
def test_a_mistake_in_a_makers_edit_is_refuted(tmp_path: Path) -> None:
    kernel, made = original("histogram_global").kernel, maker_edit("histogram_global")
    wrong = next(each for each in wrong_edits() if (each.kernel, each.origin) == ("histogram_global", made.title))
    assert original_of(wrong) == made.source.decode()
    assert wrong.edit.edited != made.edited
    found = checked(wrong, kernel, reload_of(kernel), tmp_path, tools(process))
    assert (found.verdict, found.check, found.one) == ("refuted", "outputs", NOT_KEPT)


LINE: dict[str, Any] = {"case": 0, "key": "variant", "run": 0, "error": "", "differences": [{"elements": 0}]}


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([LINE, LINE | {"run": 1, "differences": [{"elements": 3}]}], KEPT),
        ([LINE, LINE | {"case": 1, "differences": [{"elements": 3}]}], KEPT),
        ([LINE | {"differences": [{"elements": 0}, {"elements": 1}]}], NOT_KEPT),
        ([LINE | {"error": "an illegal address"}], NOT_KEPT),
        ([LINE | {"key": "original"}], NO_RESULT),
        ([], NO_RESULT),
    ],
)
def test_a_check_of_one_input_sees_the_first_launch_alone(lines: list[dict[str, Any]], said: str) -> None:
    watched = Watched(lambda _: Answer(lines))
    assert watched.one == NO_RESULT
    job: dict[str, Any] = {"cases": [{"launches": {"original": {}, "variant": {}}}]}
    watched(job)
    watched({"cases": []})  # a job of another size
    assert watched.one == said


def test_the_summary_names_what_was_kept() -> None:
    row = ("a: seed: a lost tail 0", "a", "a lost tail", "seed", "refuted", "poison", "WRONG: 3 is 4", KEPT, "12", "")
    kept = ("b: seed: a lost tail 1", "b", "a lost tail", "seed", "verified", "", "right", KEPT, "12", "")
    rows = [dict(zip(WRONG, each, strict=True)) for each in (row, kept)]
    said = summary(rows)
    assert "2 wrong edits of 2 kernels, 1 classes" in said
    assert "kept: 1; by a check with one input and one size alone: 2" in said
    assert "the reference finds 1 of their results wrong" in said
    assert "KEPT b: seed: a lost tail 1" in said
    assert "KEPT" not in summary(rows[:1])
