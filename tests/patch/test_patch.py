"""The diff is one that git apply accepts, for any file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ncuview.patch.patch import Change, Edit, Refused, Replacement
from tests.patch.building import applied

SMALL = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])


def edit_of(source: str, *replacements: Replacement) -> Edit:
    return Edit("title", "", source.encode("utf-8", "surrogateescape"), replacements)


@pytest.mark.parametrize(
    ("source", "after"),
    [
        ("a\nb\nc\n", "a\nX\nc\n"),
        ("a\nb", "a\nX"),
        ("b", "X"),
        ("b\n", "X\n"),
        ("a\r\nb\r\nc\r\n", "a\r\nX\r\nc\r\n"),
        ("\ufeffb\n", "\ufeffX\n"),
        ("\tb\t \n\n\n", "\tX\t \n\n\n"),
        ("a\fa\x0ba\x85b\u2028a\ra\n", "a\fa\x0ba\x85X\u2028a\ra\n"),
        ("// \udcff\nb // \udce9\n", "// \udcff\nX // \udce9\n"),
    ],
    ids=[
        "plain",
        "no last line feed",
        "one line",
        "complete line",
        "CRLF",
        "BOM",
        "blanks",
        "odd spaces",
        "Latin-1",
    ],
)
def test_git_applies_a_diff_to_files_of_all_kinds(source: str, after: str, tmp_path: Path) -> None:
    at = source.encode("utf-8", "surrogateescape").index(b"b")
    assert applied(source, edit_of(source, Replacement(at, at + 1, "X")), tmp_path) == after


def test_lines_can_be_added_at_either_end(tmp_path: Path) -> None:
    source = "a\nb"
    made = edit_of(source, Replacement(0, 0, "0\n"), Replacement(3, 3, "\nc\n"))
    assert applied(source, made, tmp_path) == "0\na\nb\nc\n"


def test_only_lines_that_change_are_in_the_diff() -> None:
    source = "".join(f"{number}\n" for number in range(40))
    made = edit_of(source, Replacement(0, 0, "new\n"), Replacement(len(source), len(source), "last\n"))
    marked = [line for line in made.diff("a.cu").split("\n")[2:] if line[:1] in {"+", "-"}]
    assert marked == ["+new", "+last"]


@pytest.mark.parametrize("name", ["a b.cu", "ä.cu", 'a"b.cu', "a\tb.cu", "a\\b.cu", "new\nline.cu", "d e/f.cu"])
def test_git_finds_files_of_any_name(name: str, tmp_path: Path) -> None:
    assert applied("b\n", edit_of("b\n", Replacement(0, 1, "X")), tmp_path, name) == "X\n"


@pytest.mark.parametrize("path", ["./src/a.cu", "/src/a.cu", "src/a.cu"])
def test_a_path_is_relative_with_a_and_b_before_it(path: str) -> None:
    head = edit_of("b\n", Replacement(0, 1, "X")).diff(path).split("\n")
    assert head[:2] == ["--- a/src/a.cu", "+++ b/src/a.cu"]


@SMALL
@given(data=st.data())
def test_any_replacements_of_any_text_are_what_git_makes(data: st.DataObject, tmp_path: Path) -> None:
    source = data.draw(st.text(st.sampled_from("ab \t\r\n\n\n;ä"), min_size=1, max_size=200))
    raw = source.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(source)), min_size=2, max_size=8, unique=True)))
    places = [
        (len(source[:one].encode()), len(source[:two].encode()))
        for one, two in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    texts = data.draw(st.lists(st.text("xy\n", max_size=4), min_size=len(places), max_size=len(places)))
    made = [Replacement(one, two, text) for (one, two), text in zip(places, texts, strict=True)]
    expected, at = b"", 0
    for each in made:
        expected, at = expected + raw[at : each.start] + each.text.encode(), each.end
    expected += raw[at:]
    if expected and expected != raw:
        assert applied(source, edit_of(source, *made), tmp_path).encode() == expected


def test_parts_of_a_change_that_overlap_are_refused() -> None:
    inserted = Replacement(2, 2, "a")
    Change("", "", (inserted, Replacement(2, 4, "b"), inserted, Replacement(4, 6, "c")))
    with pytest.raises(Refused, match="broken over lines"):
        Change("", "", (Replacement(2, 5, "b"), Replacement(4, 4, "c")))
