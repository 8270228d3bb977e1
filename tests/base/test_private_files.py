"""Files are kept in a folder that only this user can change; nothing else is read, written or raised."""

from __future__ import annotations

import os
import stat
import threading
import time
from pathlib import Path

import pytest

from ncuview.base import private_files
from ncuview.base.private_files import PrivateFolder

NAME = "answer"


def folder_at(path: Path, most: int = 1 << 20, largest: int = 1 << 16) -> PrivateFolder:
    return PrivateFolder(path, most, largest)


@pytest.fixture
def folder(tmp_path: Path) -> PrivateFolder:
    made = folder_at(tmp_path / "kept")
    made.write(NAME, b"content")
    assert made.read(NAME) == b"content"
    return made


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_only_this_user_may_enter_and_read(folder: PrivateFolder) -> None:
    assert mode(folder.path) == 0o700
    assert mode(folder.path / NAME) == 0o600


def test_a_later_content_replaces_the_earlier_one(folder: PrivateFolder) -> None:
    folder.write(NAME, b"later")
    assert folder.read(NAME) == b"later"
    assert [file.name for file in folder.path.iterdir()] == [NAME]


@pytest.mark.parametrize("others", [0o020, 0o002])
@pytest.mark.parametrize("of", ["folder", "file"])
def test_what_others_may_write_is_not_read(folder: PrivateFolder, others: int, of: str) -> None:
    place = folder.path if of == "folder" else folder.path / NAME
    place.chmod(mode(place) | others)
    assert folder.read(NAME) is None
    if of == "folder":
        folder.write("another", b"content")
        assert not (folder.path / "another").exists()


def test_what_is_another_users_is_not_read(folder: PrivateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_files, "user_id", lambda: os.geteuid() + 1)
    assert folder.read(NAME) is None


def test_where_users_have_no_numbers_nothing_is_kept(folder: PrivateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_files, "user_id", lambda: None)
    folder.write("another", b"content")
    assert folder.read(NAME) is None
    assert not (folder.path / "another").exists()


def test_links_are_not_followed(folder: PrivateFolder, tmp_path: Path) -> None:
    linked = tmp_path / "linked"
    linked.symlink_to(folder.path)
    assert folder_at(linked).read(NAME) is None
    folder_at(linked).write("another", b"content")
    assert not (folder.path / "another").exists()
    (folder.path / "link").symlink_to(folder.path / NAME)
    assert folder.read("link") is None
    folder.write("link", b"own")
    assert folder.read(NAME) == b"content"
    assert folder.read("link") == b"own"


def test_a_pipe_is_not_read(folder: PrivateFolder) -> None:
    os.mkfifo(folder.path / "pipe", 0o600)
    assert folder.read("pipe") is None


@pytest.mark.parametrize("broken", [b"", b"x", b"\n", b"0" * 64 + b"\ncontent"])
def test_a_broken_file_is_ignored_and_replaced(folder: PrivateFolder, broken: bytes) -> None:
    (folder.path / NAME).write_bytes(broken)
    assert folder.read(NAME) is None
    folder.write(NAME, b"anew")
    assert folder.read(NAME) == b"anew"


def test_a_cut_or_changed_file_is_ignored(folder: PrivateFolder) -> None:
    whole = (folder.path / NAME).read_bytes()
    for changed in (whole[:-1], whole + b"x", whole.replace(b"content", b"Content")):
        (folder.path / NAME).write_bytes(changed)
        assert folder.read(NAME) is None


def test_what_is_too_large_is_not_kept(tmp_path: Path) -> None:
    small = folder_at(tmp_path / "kept", largest=4)
    small.write(NAME, b"12345")
    assert small.read(NAME) is None
    folder_at(tmp_path / "kept").write(NAME, b"12345")
    assert small.read(NAME) is None


def test_the_least_recently_used_go(tmp_path: Path) -> None:
    folder = folder_at(tmp_path / "kept", most=3 * 165)
    for number in range(3):
        folder.write(str(number), b"x" * 100)  # with its checksum 165 bytes
        os.utime(folder.path / str(number), (number, number))
    assert folder.read("0") == b"x" * 100
    folder.write("3", b"x" * 100)
    assert {file.name for file in folder.path.iterdir()} == {"0", "2", "3"}


def test_what_a_killed_writer_left_goes_after_an_hour(folder: PrivateFolder) -> None:
    now = time.time()
    for name, age in (("old.tmp", 4000), ("new.tmp", 10)):
        (folder.path / name).write_bytes(b"")
        os.utime(folder.path / name, (now - age, now - age))
    folder.write(NAME, b"content")
    assert {file.name for file in folder.path.iterdir()} == {NAME, "new.tmp"}


def test_where_nothing_can_be_written_nothing_is_raised(tmp_path: Path) -> None:
    for path in (Path(os.devnull) / "kept", Path("/proc/kept"), tmp_path / ("x" * 300)):
        folder = folder_at(path)
        folder.write(NAME, b"content")
        assert folder.read(NAME) is None


def test_parallel_writers_leave_one_whole_content(tmp_path: Path) -> None:
    folder = folder_at(tmp_path / "kept", most=1 << 24)
    contents = [bytes([number]) * 50_000 for number in range(8)]
    seen: list[bytes | None] = []

    def work(content: bytes) -> None:
        for _ in range(5):
            folder.write(NAME, content)
            seen.append(folder.read(NAME))

    threads = [threading.Thread(target=work, args=[content]) for content in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {*seen} <= {*contents}
    assert [file.name for file in folder.path.iterdir()] == [NAME]
