"""Source texts: from the report, or of a local file that may be the one that was compiled."""

from __future__ import annotations

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base import source_files
from ncuview.base.errors import UsageError
from ncuview.reader.source import LARGEST, NOT_HERE, Sources, lines_of, local_file, with_local_sources
from ncuview.records.profile import Profile
from tests.builders import Instruction, Launch, make_profile

if TYPE_CHECKING:
    import pandas as pd

REPORT = "made.ncu-rep"
MADE = datetime(2026, 11, 21, 9, 0, tzinfo=UTC)
CODE = "".join(f"line {number}\n" for number in range(1, 10))


def profile_of(*files: str, line: int = 3, sources: dict[str, str] | None = None) -> Profile:
    """A launch with an instruction of each of these files."""
    instructions = [Instruction("EXIT", line, file) for file in files]
    made = make_profile(Launch(instructions=instructions, sources=sources or {}))
    return replace(made, reports=(replace(made.reports[0], created=MADE),))


def written(path: Path, text: str | bytes = CODE, age: timedelta = timedelta(hours=1)) -> Path:
    """A file that was changed so long before the report was made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    when = (MADE - age).timestamp()
    os.utime(path, (when, when))
    return path


def test_lines_are_counted_as_a_compiler_counts_them() -> None:
    assert lines_of("a\fb\r\nc\x85d\u2028e\x1cf\rg\n") == ["a\fb", "c\x85d\u2028e\x1cf", "g", ""]


@given(st.lists(st.text(st.characters(exclude_characters="\r\n"))), st.sampled_from(["\n", "\r\n", "\r"]))
def test_lines_come_back_whatever_ends_them(lines: list[str], end: str) -> None:
    assert lines_of(end.join(lines)) == (lines or [""])


@pytest.mark.parametrize(
    ("file", "held", "found"),
    [
        ("a.cu", {"a.cu": "x"}, "x"),
        ("/c/bin/../include/a.h", {"/c/include/a.h": "x"}, "x"),
        ("/__3/_0/__1/a.h", {"/__3/a.h": "x"}, "x"),
        ("/__3/_0/__1/a.h", {"/__3/a.h": "x", "/__4/a.h": "y"}, ""),
        ("a.cu", {"b.cu": "x"}, ""),
        ("a.cu", {}, ""),
    ],
)
def test_a_file_is_known_by_its_path_else_by_its_name_if_only_one_has_it(
    file: str, held: dict[str, str], found: str
) -> None:
    assert Sources(profile_of(file, sources=held)).text(REPORT, file) == found


def test_the_text_of_one_file_is_not_shown_for_another_of_its_name() -> None:
    profile = profile_of("one/a.h", "two/a.h", sources={"one/a.h": "x"})
    assert Sources(profile).text(REPORT, "one/a.h") == "x"
    assert not Sources(profile).text(REPORT, "two/a.h")
    assert not Sources(profile).text("other.ncu-rep", "one/a.h")


def test_all_files_are_looked_through_once_however_often_is_asked() -> None:
    profile = profile_of("/__3/_0/__1/a.h", "b.h", sources={"/__3/a.h": "x"})
    columns = profile.instructions

    class Once:
        def __getitem__(self, name: str) -> pd.Series[str]:
            assert name not in asked
            asked.append(name)
            return columns[name]

    asked: list[str] = []
    watched = replace(profile, instructions=cast("pd.DataFrame", Once()))
    sources = Sources(watched)
    for _ in range(3):
        assert sources.text(REPORT, "/__3/_0/__1/a.h") == "x"
        assert not sources.text(REPORT, "gone.h")
        assert not sources.text("other.ncu-rep", "/__3/_0/__1/a.h")
    assert asked == ["file"]


def test_a_file_has_the_lines_of_its_text_and_none_where_there_is_no_text() -> None:
    profile = profile_of("a.cu", sources={"a.cu": "one\r\ntwo\fthree"})
    sources = Sources(profile)
    assert sources.lines(REPORT, "a.cu") == ["one", "two\fthree"]
    assert sources.lines(REPORT, "a.cu") is sources.lines(REPORT, "a.cu")
    assert sources.lines(REPORT, "gone.cu") == []
    assert Sources(profile_of("a.cu", sources={})).lines(REPORT, "a.cu") == []


def local(file: str | Path, folders: tuple[Path, ...] = (), line: int = 3) -> tuple[str, str]:
    """The text that is found for a file, and the remark."""
    profile = with_local_sources(profile_of(str(file), line=line), folders)
    key = (REPORT, str(file))
    return profile.sources.get(key, ""), profile.source_remarks[key]


def test_a_file_that_is_where_the_report_says_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = written(tmp_path / "src" / "a.cu")
    assert local(file) == (CODE, "")
    monkeypatch.chdir(tmp_path)
    assert local("src/a.cu") == (CODE, "")


def test_a_file_that_changed_since_is_shown_with_a_word_about_it(tmp_path: Path) -> None:
    text, remark = local(written(tmp_path / "a.cu", age=-timedelta(hours=1)))
    assert text == CODE
    assert remark == "a.cu has changed since the report was made: its lines may have moved"


def test_without_a_date_of_the_report_no_file_is_taken_for_the_compiled_one(tmp_path: Path) -> None:
    file = written(tmp_path / "a.cu")
    undated = profile_of(str(file))
    undated = replace(undated, reports=(replace(undated.reports[0], created=None),))
    assert "does not say when" in with_local_sources(undated).source_remarks[REPORT, str(file)]


def test_a_file_that_is_too_short_is_not_the_compiled_one(tmp_path: Path) -> None:
    file = written(tmp_path / "a.cu", "one line")
    assert local(file) == ("", "a.cu on this machine is not the file that was compiled: it has no line 3")


def test_what_the_report_holds_is_not_read_again(tmp_path: Path) -> None:
    file = str(written(tmp_path / "a.cu"))
    profile = with_local_sources(profile_of(file, sources={file: "as compiled"}))
    assert profile.sources == {(REPORT, file): "as compiled"}
    assert not profile.source_remarks


@pytest.mark.parametrize(
    "name", ["/dev/zero", "/dev/tty", "/etc/passwd", "/proc/self/environ", "a\0.cu", "x" * 5000 + ".cu", "gone.cu", "."]
)
def test_hostile_names_are_not_opened(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object, *_: object) -> None:
        raise AssertionError(f"{path} was opened")

    monkeypatch.setattr(os, "open", refuse)
    assert local(name) == ("", NOT_HERE)


def test_a_pipe_a_folder_and_a_loop_of_links_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.cu")
    (tmp_path / "folder.cu").mkdir()
    (tmp_path / "loop.cu").symlink_to(tmp_path / "loop.cu")
    for name in ("pipe.cu", "folder.cu", "loop.cu"):
        assert local(tmp_path / name) == ("", NOT_HERE)


def test_a_link_shows_no_file_of_another_kind(tmp_path: Path) -> None:
    secret = written(tmp_path / "secret.key")
    (tmp_path / "a.cu").symlink_to(secret)
    assert local(tmp_path / "a.cu") == ("", NOT_HERE)
    assert local(secret) == ("", NOT_HERE)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    assert local(written(tmp_path / "a.cu", b"\n" * (LARGEST + 1))) == ("", NOT_HERE)


def test_a_file_with_machine_code_in_it_is_no_source(tmp_path: Path) -> None:
    assert not local(written(tmp_path / "a.cu", b"\0\n" * 9))[0]


def test_any_bytes_of_a_source_file_can_be_shown(tmp_path: Path) -> None:
    assert local(written(tmp_path / "a.cu", b"\xff\xfe\n\n\n"))[0] == "\ufffd\ufffd\n\n\n"


def test_source_folders_are_searched_for_the_path_that_agrees_best(tmp_path: Path) -> None:
    written(tmp_path / "lib" / "one" / "a.cuh", CODE.replace("line", "one"))
    written(tmp_path / "lib" / "two" / "a.cuh", CODE.replace("line", "two"))
    assert local("/build/machine/two/a.cuh", (tmp_path,))[0].startswith("two 1\n")
    assert local("a.cuh", (tmp_path,)) == ("", NOT_HERE)
    assert local("C:\\work\\one\\a.cuh", (tmp_path,))[0].startswith("one 1\n")


def test_a_source_folder_comes_before_the_path_of_the_report(tmp_path: Path) -> None:
    file = written(tmp_path / "now" / "a.cu", CODE.replace("line", "now"))
    written(tmp_path / "then" / "a.cu", CODE.replace("line", "then"))
    assert local(file, (tmp_path / "then",))[0].startswith("then 1\n")


def test_a_folder_that_is_none_or_that_holds_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="is no folder"):
        local("a.cu", (tmp_path / "gone",))
    monkeypatch.setattr(source_files, "MOST_FILES", 1)
    for name in ("a.txt", "b.txt"):
        written(tmp_path / name)
    with pytest.raises(UsageError, match="too much"):
        local("a.cu", (tmp_path,))


def test_a_file_that_is_to_be_changed_comes_with_its_bytes_as_they_are(tmp_path: Path) -> None:
    file = written(tmp_path / "a.cu", b"caf\xe9\r\n")
    written(tmp_path / "notes.txt")
    assert local_file("/build/a.cu", (tmp_path,)) == (file.resolve(), "caf\udce9\r\n")
    assert local_file(str(file)) == (file, "caf\udce9\r\n")
    assert local_file("gone.cu", (tmp_path,)) is None
    assert local_file("/etc/passwd") is None


def test_hidden_folders_are_left_out(tmp_path: Path) -> None:
    written(tmp_path / ".git" / "a.cu")
    assert local("a.cu", (tmp_path,)) == ("", NOT_HERE)


def test_python_sources_of_triton_and_numba_are_shown(tmp_path: Path) -> None:
    assert local(written(tmp_path / "kernels.py")) == (CODE, "")
