"""Files are written whole or not at all: whatever fails, whoever is killed, and nothing stays beside them."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzz.kill_writers import Writer, writers
from ncuview.base.errors import NcuviewError
from ncuview.base.files import NoRegularFile, TooLarge, open_regular, replace_file
from ncuview.reader import scrub
from ncuview.reader.packing import packed

CALLS = ("open", "write", "chmod", "fsync", "close", "replace", "unlink", "scandir")
"""What writing asks of the system, as functions of ``os``."""
HOUR_S = 3600
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def target(tmp_path: Path) -> Path:
    path = tmp_path / "a.json"
    path.write_bytes(b"old")
    return path


def permissions(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# What is there afterwards


@given(st.binary(max_size=5000), st.binary(max_size=5000))
def test_the_file_holds_what_was_given(tmp_path_factory: pytest.TempPathFactory, old: bytes, new: bytes) -> None:
    path = tmp_path_factory.mktemp("files") / "a"
    for data in (old, new):
        replace_file(path, data)
        assert path.read_bytes() == data
        assert list(path.parent.iterdir()) == [path]


@given(st.lists(st.binary(max_size=500)))
def test_it_may_be_given_in_parts(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("files") / "a"
    replace_file(path, iter(parts))
    assert path.read_bytes() == b"".join(parts)


@pytest.mark.parametrize("error", [ValueError("no more"), KeyboardInterrupt()])
def test_parts_that_fail_leave_what_was_there(target: Path, error: BaseException) -> None:
    def failing() -> Iterator[bytes]:
        yield b"half"
        raise error

    with pytest.raises(type(error)):
        replace_file(target, failing())
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]


def test_large_data_may_come_in_parts_and_all_of_it_counts(target: Path) -> None:
    replace_file(target, (bytes([digit]) * 100_000 for digit in range(3)))
    assert target.read_bytes() == b"\0" * 100_000 + b"\1" * 100_000 + b"\2" * 100_000

    def broken() -> Iterator[bytes]:
        yield b"half"
        raise NcuviewError("no more")

    before = target.read_bytes()
    with pytest.raises(NcuviewError, match="no more"):
        replace_file(target, broken())
    assert target.read_bytes() == before
    assert list(target.parent.iterdir()) == [target]


def test_a_system_that_takes_a_byte_at_a_time_gets_them_all(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:1]))
    replace_file(target, b"many bytes")
    assert target.read_bytes() == b"many bytes"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o755])
def test_a_file_keeps_its_permissions(target: Path, mode: int) -> None:
    target.chmod(mode)
    replace_file(target, b"new", mode=0o666)
    assert permissions(target) == mode


def test_a_new_file_has_the_permissions_that_are_asked_for_less_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        replace_file(tmp_path / "a", b"new")
        replace_file(tmp_path / "private", b"new", mode=0o600)
    finally:
        os.umask(before)
    assert permissions(tmp_path / "a") == 0o640
    assert permissions(tmp_path / "private") == 0o600


@pytest.mark.parametrize("mode", [0o600, 0o640])
def test_nobody_reads_it_before_who_may_read_the_old_one(
    target: Path, mode: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    target.chmod(mode)
    seen: list[int] = []
    chmod, write = os.chmod, os.write

    def watched(call: Callable[..., Any]) -> Callable[..., Any]:
        def watch(descriptor: int, what: Any) -> Any:
            seen.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
            return call(descriptor, what)

        return watch

    monkeypatch.setattr(os, "chmod", watched(chmod))
    monkeypatch.setattr(os, "write", watched(write))
    replace_file(target, b"new")
    assert seen == [0o600, mode]


@pytest.mark.parametrize("name", ["a" * 255, "ü" * 127, "表" * 85, os.fsdecode(b"\xff" * 255), "a\nb [*] (.+)"])
def test_any_name_will_do(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    for data in (b"old", b"new"):
        replace_file(path, data)
        assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


# What fails


class Fault:
    """Lets one call of the system fail, the n-th of all that are watched."""

    def __init__(self, number: int, error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
        self._left, self._error = number, error
        for name in CALLS:
            monkeypatch.setattr(os, name, self._failing(name, getattr(os, name)))

    @property
    def happened(self) -> bool:
        """Whether there were so many calls."""
        return self._left <= 0

    def _failing(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def failing(*args: Any, **kwargs: Any) -> Any:
            self._left -= 1
            if self._left == 0 and name != "close":
                raise self._error
            result = call(*args, **kwargs)
            if self._left == 0:  # what fails to close is closed all the same
                raise self._error
            return result

        return failing


def failures(
    write: Callable[[], object],
    make: Callable[[], BaseException],
    prepare: Callable[[], object],
    check: Callable[[BaseException | None], None],
) -> int:
    """Write again and again, and let another call fail each time; how many there were to fail."""
    number = 0
    while True:
        number += 1
        prepare()
        raised: BaseException | None = None
        with pytest.MonkeyPatch.context() as patch:
            fault = Fault(number, make(), patch)
            try:
                write()
            except (OSError, NcuviewError, KeyboardInterrupt) as error:
                raised = error
        if not fault.happened:
            assert raised is None
            return number - 1
        check(raised)


FAULTS: Sequence[Callable[[], BaseException]] = (
    *(lambda code=code: OSError(code, os.strerror(code)) for code in (errno.ENOSPC, errno.EIO, errno.EACCES)),
    KeyboardInterrupt,
)


@pytest.mark.parametrize("make", FAULTS, ids=["ENOSPC", "EIO", "EACCES", "Ctrl-C"])
@pytest.mark.parametrize("there", [True, False])
def test_whatever_fails_leaves_the_old_file_or_the_new_one(
    tmp_path: Path, make: Callable[[], BaseException], there: bool
) -> None:
    path = tmp_path / "a"

    def prepare() -> None:
        path.unlink(missing_ok=True)
        if there:
            path.write_bytes(b"old")

    def check(raised: BaseException | None) -> None:
        expected = [b"new"] if raised is None else [b"old" if there else None]
        if isinstance(raised, KeyboardInterrupt):
            expected.append(b"new")  # it came after the new one had its name
        assert (path.read_bytes() if path.exists() else None) in expected
        assert {*tmp_path.iterdir()} <= {path}

    assert failures(lambda: replace_file(path, b"new"), make, prepare, check) >= 8


def test_a_place_that_cannot_be_written_is_an_error_and_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "none" / "a"):
        with pytest.raises(OSError, match=r"director"):
            replace_file(path, b"new")
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def test_a_file_that_grows_beyond_the_limit_of_the_process_leaves_the_old_one(target: Path) -> None:
    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    program = "import sys; from pathlib import Path; from ncuview.base.files import replace_file\n"
    program += "replace_file(Path(sys.argv[1]), bytes(5000))"
    run = subprocess.run(
        [sys.executable, "-c", program, target],
        preexec_fn=limited,
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert "OSError: [Errno 27] File too large" in run.stderr
    assert target.read_bytes() == b"old"
    assert list(target.parent.iterdir()) == [target]


# What those leave who are killed


@pytest.fixture(scope="module")
def gone() -> int:
    """The number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        pass
    return process.pid


def left_by(writer: int, target: Path) -> Path:
    """The partial file of a process of that number, which was killed before it was done."""
    seen: list[Path] = []

    def killed(left: Path, _: Path) -> None:
        seen.append(left)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "getpid", lambda: writer)
        patch.setattr(Path, "replace", killed)
        patch.setattr(Path, "unlink", lambda _: None)
        with pytest.raises(KeyboardInterrupt):
            replace_file(target, b"half")
    (left,) = seen
    assert left.read_bytes() == b"half"
    return left


def aged(path: Path, seconds: float) -> None:
    moment = time.time() - seconds
    os.utime(path, (moment, moment))


def test_it_is_removed_by_the_next_one_who_writes_the_same_file(target: Path, gone: int) -> None:
    partials = {left_by(gone, target) for _ in range(3)}
    other = target.with_name("other.json")
    replace_file(other, b"new")
    assert partials <= {*target.parent.iterdir()}
    replace_file(target, b"new")
    assert {*target.parent.iterdir()} == {target, other}


def test_who_still_writes_is_left_alone(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = left_by(os.getpid(), target)
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("another process was asked for"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "kill", lambda process, signal: (process, signal) == (os.getpid(), 0) or pytest.fail("who?"))
        replace_file(target, b"new")
    assert {*target.parent.iterdir()} == {target, mine}


def test_another_users_process_still_writes(target: Path, gone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(process: int, signal: int) -> None:
        assert (process, signal) == (gone, 0)
        raise PermissionError(errno.EPERM, "Operation not permitted")

    left = left_by(gone, target)
    monkeypatch.setattr(os, "kill", forbidden)
    replace_file(target, b"new")
    assert left.exists()


def test_after_an_hour_nobody_still_writes(target: Path) -> None:
    """The number may be another process's by now."""
    left = left_by(os.getpid(), target)
    aged(left, HOUR_S - 60)
    replace_file(target, b"new")
    assert left.exists()
    aged(left, HOUR_S + 60)
    replace_file(target, b"new")
    assert not left.exists()


@pytest.mark.parametrize("what", ["host", "container"])
def test_a_number_on_another_machine_says_nothing(
    target: Path, gone: int, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = os.uname()
    with monkeypatch.context() as patch:
        if what == "host":
            patch.setattr(os, "uname", lambda: os.uname_result((here.sysname, "elsewhere", *here[2:])))
        else:
            patch.setattr(Path, "readlink", lambda _: Path("pid:[1]"))
        left = left_by(gone, target)
    replace_file(target, b"new")
    assert left.exists()
    aged(left, HOUR_S + 60)
    replace_file(target, b"new")
    assert not left.exists()


def test_a_system_without_proc_has_one_numbering(target: Path, gone: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: Path) -> Path:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory")

    monkeypatch.setattr(Path, "readlink", none)
    left = left_by(gone, target)
    replace_file(target, b"new")
    assert not left.exists()


@pytest.mark.parametrize(
    "name",
    [
        "a.json.{rest}",  # not hidden
        ".xa.json.{rest}",
        ".a.json.x.{rest}",
        ".a.json.{rest}.bak",
        ".aXjson.{rest}",
        ".a.json.0.{hex}.tmp",
        ".a.json.00000000.0.{hex}.tmp",  # process 0 would be our own group
        ".a.json.00000000.-1.{hex}.tmp",  # and -1 every process
        ".a.json.00000000.99999999999999999999.{hex}.tmp",
        ".a.json.00000000.\u0661.{hex}.tmp",  # a digit, but none of ours
    ],
)
def test_nothing_else_is_removed(target: Path, gone: int, name: str) -> None:
    left = left_by(gone, target)
    _, rest = left.name.split(".a.json.")
    other = target.with_name(name.format(rest=rest, hex="0" * 16))
    left.rename(other)
    aged(other, 2 * HOUR_S)
    replace_file(target, b"new")
    assert other.exists()


def test_a_link_in_its_place_is_removed_and_not_what_it_points_to(target: Path, gone: int, tmp_path: Path) -> None:
    left = left_by(gone, target)
    left.unlink()
    mine = tmp_path / "mine"
    mine.write_bytes(b"mine")
    left.symlink_to(mine)
    replace_file(target, b"new")
    assert mine.read_bytes() == b"mine"
    assert not left.is_symlink()


def test_what_may_not_be_removed_is_no_reason_not_to_write(target: Path, gone: int) -> None:
    left = left_by(gone, target)
    left.unlink()
    left.mkdir()
    replace_file(target, b"new")
    assert target.read_bytes() == b"new"


# Reading


def test_a_regular_file_is_opened_whatever_its_size(target: Path) -> None:
    with open_regular(target) as file:
        assert file.read() == b"old"
    with open_regular(target, largest=3) as file:
        assert file.read() == b"old"
    with pytest.raises(TooLarge, match="is larger than 2 bytes"):
        open_regular(target, largest=2)


def test_what_is_no_regular_file_is_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path, is_folder in ((pipe, False), (Path(os.devnull), False), (tmp_path, True)):
        with pytest.raises(NoRegularFile, match="is no regular file") as refused:
            open_regular(path)
        assert refused.value.is_folder == is_folder


def test_a_link_is_followed_unless_that_is_forbidden(target: Path) -> None:
    link = target.with_name("link")
    link.symlink_to(target)
    with open_regular(link) as file:
        assert file.read() == b"old"
    with pytest.raises(OSError, match=os.strerror(errno.ELOOP)):
        open_regular(link, follow=False)
    with open_regular(target, follow=False) as file:
        assert file.read() == b"old"


def test_what_is_refused_is_not_kept_open(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    before = {file.name for file in Path("/proc/self/fd").iterdir()}
    for path in (target.parent, target.with_name("missing")):
        with pytest.raises((NoRegularFile, FileNotFoundError)):
            open_regular(path)
    with pytest.raises(TooLarge):
        open_regular(target, largest=0)
    monkeypatch.setattr(os, "fdopen", fail)
    with pytest.raises(OSError, match="Input/output error"):
        open_regular(target)
    assert {file.name for file in Path("/proc/self/fd").iterdir()} == before


# All who write files


@pytest.fixture(scope="module")
def every() -> Sequence[Writer]:
    return writers()


@pytest.mark.parametrize("at", range(len(FAULTS) - 1), ids=["ENOSPC", "EIO", "EACCES"])
def test_whatever_fails_is_reported_and_leaves_the_old_file_or_the_new_one(
    every: Sequence[Writer], at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A third of the writers for each fault; tests/nightly has all of them.
    check_faults(every[at :: len(FAULTS) - 1], FAULTS[at], tmp_path, monkeypatch)


def check_faults(
    some: Sequence[Writer], make: Callable[[], BaseException], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrub, "packed", cache(packed))  # which takes a second
    for writer in some:
        path = tmp_path / writer.name / writer.file
        path.parent.mkdir()
        old, new = writer.written(0)[writer.file], writer.written(1)
        check = partial(check_failed, writer, path, old, new)
        tried = failures(partial(writer.write, path, 1), make, partial(path.write_bytes, old), check)
        assert tried >= 3, writer.name


def check_failed(
    writer: Writer, path: Path, old: bytes, new: Mapping[str, bytes], raised: BaseException | None
) -> None:
    assert raised is None or isinstance(raised, writer.raises)
    assert path.read_bytes() in ([old, new[path.name]] if raised else [new[path.name]])
    assert {each.name for each in path.parent.iterdir()} <= new.keys()
