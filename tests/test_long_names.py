"""A name of 5,000 letters, which no file can have: refused like any other name without a file."""

from __future__ import annotations

import pytest

from tests.command_line import RECORDED, assert_failed, ncuview

LONG = 5_000 * "a"


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        (["analyze", LONG], 2, "no kernel or report"),
        (["analyze", "--no-counters", LONG], 2, "no kernel"),
        (["analyze", f"{LONG}.ncu-rep"], 3, "cannot be read: File name too long"),
        (["analyze", f"{LONG}.csv"], 3, "cannot be read: File name too long"),
        (["analyze", f"{LONG}.cu"], 2, "cannot be read: File name too long"),
        (["analyze", f"{LONG}.py"], 2, "there is no Python file"),
        (["analyze", RECORDED, "--rules", LONG], 2, "is no folder"),
        (["analyze", RECORDED, "--source-folders", LONG], 2, "is no folder"),
        (["analyze", RECORDED, "--output", f"{LONG}.html"], 2, "cannot be written"),
        (["check", RECORDED, "--budget", LONG], 2, "cannot be read: File name too long"),
        (["check", RECORDED, "--baseline", LONG], 2, "cannot be read: File name too long"),
        (["check", RECORDED, "--save-baseline", LONG], 2, "cannot be written"),
        (["diff", RECORDED, LONG], 3, "cannot be read: File name too long"),
        (["ladder", LONG], 2, "no family"),
        (["report", LONG], 3, "cannot be read: File name too long"),
        (["report", RECORDED, "--output", f"{LONG}.html"], 2, "cannot be written"),
        (["rules", "--rules", LONG], 2, "is no folder"),
        (["rules", "check", LONG], 2, "is no folder"),
        (["scrub", LONG, "copy.ncu-rep"], 3, "cannot be read: File name too long"),
        (["scrub", RECORDED, LONG], 2, "cannot be written"),
    ],
    ids=lambda value: " ".join(str(word)[:20] for word in value) if isinstance(value, list) else None,
)
def test_a_name_that_is_too_long_for_a_file_is_no_bug_of_ours(words: list[str], code: int, says: str) -> None:
    assert_failed(ncuview(*words), code, says)
