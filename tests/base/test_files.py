"""Untrusted TOML: read within limits of size, depth and time, or refused with a message."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.files import DEEPEST, LARGEST_TOML, beginning_of, parse_toml, text_of, toml_of

BOMBS = {
    "a long dotted key": "a." * (LARGEST_TOML // 2 - 1) + "a=1",
    "a long heading": "[" + "a." * (LARGEST_TOML // 2 - 2) + "a]",
    "quoted parts": "'a'." * (LARGEST_TOML // 4 - 2) + "a=1",
    "blanks between parts": "a . " * (LARGEST_TOML // 4 - 2) + "a=1",
    "nested arrays": "a=" + "[" * (LARGEST_TOML - 2),
    "nested tables": "a=" + "{a=" * (LARGEST_TOML // 3 - 2),
    "a long number": "a=" + "9" * (LARGEST_TOML - 2),
    "quotes": '"' * LARGEST_TOML,
    "a word": "a" * LARGEST_TOML,
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_bombs_are_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "bomb.toml"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"."):
        toml_of(file)


def test_a_number_of_too_many_digits_is_refused_in_plain_words() -> None:
    with pytest.raises(ValueError, match=r"^a number has more than [\d,]+ digits$"):
        parse_toml(f"max = {'9' * 100_000}")


def test_keys_of_some_parts_are_read() -> None:
    inner = parse_toml(".".join(["a"] * DEEPEST) + " = 1")
    for _ in range(DEEPEST):
        inner = inner["a"]
    assert inner == 1  # type: ignore[comparison-overlap]
    with pytest.raises(ValueError, match=f"more than {DEEPEST} parts"):
        parse_toml(".".join(["a"] * (DEEPEST + 1)) + " = 1")


@given(st.text("a.'\"=[]{}\n #1,", max_size=60))
def test_all_else_is_python_s_own(text: str) -> None:
    try:
        want: object = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        with pytest.raises(tomllib.TOMLDecodeError):
            parse_toml(text)
    else:
        assert parse_toml(text) == want


def test_a_large_file_is_not_read_to_its_end(tmp_path: Path) -> None:
    file = tmp_path / "large.toml"
    with file.open("wb") as large:
        large.truncate(100 << 20)
    with pytest.raises(ValueError, match="larger than"):
        text_of(file)
    assert len(beginning_of(file, 10)) == 10


def test_a_file_of_just_the_size_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_text("a=1\n".ljust(LARGEST_TOML))
    assert toml_of(file) == {"a": 1}


def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    for path in (pipe, tmp_path, Path(os.devnull)):
        with pytest.raises(ValueError, match="no regular file"):
            text_of(path)
    with pytest.raises(FileNotFoundError):
        text_of(tmp_path / "missing.toml")


def test_what_becomes_a_device_once_it_was_looked_at_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = tmp_path / "changed.toml"
    changed.symlink_to("/dev/zero")
    monkeypatch.setattr(Path, "is_file", lambda _: True)
    with pytest.raises(ValueError, match="no regular file"):
        beginning_of(changed, 10)


def test_a_name_that_no_file_can_have_is_refused() -> None:
    with pytest.raises(ValueError, match="null"):
        beginning_of(Path("a\0b"), 10)


def test_what_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    file.write_bytes(b"a = '\xff'")
    with pytest.raises(UnicodeDecodeError):
        toml_of(file)


CONFINED = """
import os, sys
from pathlib import Path
from ncuview.base.files import Outside, open_regular, read_only_below

root = Path(sys.argv[1])
read_only_below([root])
for name in sys.argv[2:]:
    try:
        open_regular(Path(name)).close()
    except Outside:
        print("outside")
    else:
        print("opened")
"""


def test_a_confined_process_opens_nothing_outside_whatever_name_leads_there(tmp_path: Path) -> None:
    root, secret = tmp_path / "root", tmp_path / "secret"
    (root / "inner").mkdir(parents=True)
    secret.write_text("x")
    (root / "inner" / "own").write_text("x")
    (root / "to-secret").symlink_to(secret)
    (root / "to-own").symlink_to("inner/own")
    (root / "up").symlink_to("..")
    (tmp_path / "rootless").mkdir()
    (tmp_path / "rootless" / "file").write_text("x")
    (tmp_path / "in").symlink_to(root / "inner")
    inside = [root / "inner" / "own", root / "to-own", tmp_path / "in" / "own", root / "inner" / ".." / "to-own"]
    outside = [secret, root / "to-secret", root / ".." / "secret", root / "up" / "secret", tmp_path / "rootless/file"]
    done = subprocess.run(
        [sys.executable, "-c", CONFINED, root, *inside, *outside],
        capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert done.stdout.split() == ["opened"] * len(inside) + ["outside"] * len(outside)
