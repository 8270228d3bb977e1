"""The child that reads has a minimal environment, and each way in which it ends is recognised."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import pytest

from ncuview.base.errors import ReportUnreadable
from ncuview.base.paths import shipped
from ncuview.reader import child as module
from ncuview.reader.child import Children, Failure, PrestartedChildren, Shard
from ncuview.reader.columns import Answer, LaunchColumns, Reading, encode
from ncuview.reader.readable_part import approve
from ncuview.reader.task import at_launch, reading

RECORDED = shipped("kernels") / "transfers" / "h200.ncu-repz"
LAUNCHES = 8
BEGUN = f"import os, signal, sys, time; sys.stderr.write({reading() + at_launch(3)!r}); sys.stderr.flush()"

Pretend = Callable[[str], None]


@pytest.fixture(scope="module")
def shard() -> Iterator[Shard]:
    """All launches of a recorded report."""
    approved = approve(RECORDED)
    yield Shard(approved.snapshot, 0, approved.header.launches, approved.header.results)
    approved.snapshot.close()


@pytest.fixture
def pretend(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Pretend:
    """Let the child process run this instead of the reader."""

    def write(program: str) -> None:
        script = tmp_path / "child"
        script.write_text(f"#!{sys.executable}\n{program}\n")
        script.chmod(0o755)
        monkeypatch.setattr(sys, "executable", str(script))

    return write


def failure(shard: Shard) -> Failure:
    (found,) = Children("").read([shard], with_code=True)
    assert isinstance(found, Failure)
    return found


def answer(shard: Shard, kernel: str = "", *, with_code: bool = True) -> Answer:
    (found,) = Children(kernel).read([shard], with_code=with_code)
    assert isinstance(found, Answer), found
    return found


def sent(total: int, lost: Mapping[int, str] | None = None, index: Sequence[int] = ()) -> str:
    """A program that begins, and sends an answer with launches without metrics."""
    texts = ["x"] * len(index)
    columns = LaunchColumns(index, texts, texts, texts, (), (), (), [0] * len(index), [()] * len(index))
    document = b"".join(encode(Answer(Reading(total, ["x"], columns), lost or {})))
    return f"{BEGUN}; sys.stdout.buffer.write({document!r})"


def test_a_shard_is_read_with_the_indices_of_its_report(shard: Shard) -> None:
    part = shard.part(2, 5)
    assert (part.start, part.stop) == (2, 5)
    found = answer(part)
    assert (found.reading.launches.index, found.reading.total, found.lost) == ([2, 3, 4], LAUNCHES, {})


@pytest.mark.parametrize("kernel", ["pinnedCopies", "regex:^pinned"])
def test_only_launches_of_the_kernel_are_read(shard: Shard, kernel: str) -> None:
    assert set(answer(shard, kernel).reading.launches.kernel) == {"pinnedCopies"}


def test_without_code_there_are_all_metrics_and_nothing_else(shard: Shard) -> None:
    full, numbers = answer(shard).reading.launches, answer(shard, with_code=False).reading.launches
    assert full.sass
    assert full.sources
    assert (numbers.sass, numbers.sources, list(numbers.counts)) == ([], {}, [0] * LAUNCHES)
    assert (numbers.index, numbers.metrics, bytes(numbers.values)) == (  # type: ignore[arg-type]
        full.index,
        full.metrics,
        bytes(full.values),  # type: ignore[arg-type]
    )


def test_launches_whose_metrics_are_not_all_there_are_left_out(shard: Shard) -> None:
    launches = list(shard.launches)
    launches[2] = launches[2]._replace(metrics=5)
    found = answer(Shard(shard.report, 0, tuple(launches), LAUNCHES))
    assert found.lost == {2: f"has {launches[1].metrics} metrics, not 5"}
    assert found.reading.launches.index == [0, 1, 3, 4, 5, 6, 7]


def test_a_report_with_other_launches_than_it_announces_fails(shard: Shard) -> None:
    found = failure(Shard(shard.report, 0, (*shard.launches, shard.launches[0]), LAUNCHES + 1))
    assert found == Failure(None, "announces 9 launches, of which NVIDIA's reader finds 8")


def test_nothing_of_our_surroundings_is_there(
    shard: Shard, pretend: Pretend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_file = tmp_path / "found"
    for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONSTARTUP", "PYTHONINSPECT", "SECRET_TOKEN"):
        monkeypatch.setenv(name, "/nowhere")
    pretend(
        "import json, os, time\n"
        "while os.path.exists(os.environ['HOME']): time.sleep(0.01)\n"
        "try: folder = os.getcwd()\n"
        "except FileNotFoundError: folder = None\n"
        "links = [f'/proc/self/fd/{file}' for file in range(3, 1000)]\n"
        "files = [os.readlink(link) for link in links if os.path.islink(link)]\n"
        "found = {'folder': folder, 'environment': dict(os.environ), 'files': files}\n"
        f"open({str(found_file)!r}, 'w').write(json.dumps(found))\n"
    )
    with pytest.raises(ReportUnreadable):
        Children("").read([shard], with_code=True)
    found = json.loads(found_file.read_text())
    assert found["folder"] is None
    environment = found["environment"]
    assert environment.keys() - {"LD_LIBRARY_PATH"} == {"PYTHONPATH", "LC_ALL", "HOME", "TMPDIR"}
    assert "/nowhere" not in environment.values()
    assert not [file for file in found["files"] if not file.startswith(str(tmp_path))]


def test_python_finds_its_own_library_where_it_is_a_shared_one(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"Py_ENABLE_SHARED": 1, "LIBDIR": "/opt/python/lib"}
    monkeypatch.setattr(sysconfig, "get_config_var", known.__getitem__)
    assert Children("")._environment["LD_LIBRARY_PATH"] == "/opt/python/lib"
    known["Py_ENABLE_SHARED"] = 0
    assert "LD_LIBRARY_PATH" not in Children("")._environment


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")
def test_root_reads_as_user_nobody(shard: Shard, pretend: Pretend) -> None:
    pretend(
        "import os, sys\n"
        "import ncuview.reader.native as native\n"
        "def columns(*_, **__): sys.exit(f'users {os.getresuid()} groups {os.getgroups()}')\n"
        "native.Columns = columns\n"
        "native.main()\n"
    )
    assert "users (65534, 65534, 65534) groups []" in failure(shard).why


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has rights to give up")
def test_modules_that_only_root_may_read_are_imported_before_rights_are_given_up(
    shard: Shard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed = find_spec("ncu_report")
    assert installed
    assert installed.origin
    folder = tmp_path / "private"
    folder.mkdir(mode=0o700)
    shutil.copytree(Path(installed.origin).parent, folder / "ncu_report")
    expected = answer(shard).reading.launches
    monkeypatch.syspath_prepend(folder)
    children = Children("")
    assert str(folder) in children._environment["PYTHONPATH"]
    (found,) = children.read([shard], with_code=True)
    assert isinstance(found, Answer), found
    assert found.reading.launches.sass == expected.sass != []


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", Failure(3, "crashed NVIDIA's reader (signal 11)")),
        ("raise MemoryError('no room')", Failure(3, "made NVIDIA's reader fail (MemoryError: no room)", scarce=True)),
        ("raise MemoryError", Failure(3, "made NVIDIA's reader fail (MemoryError)", scarce=True)),
        (
            "os.write(2, b'  what():  std::bad_alloc\\n'); os.abort()",
            Failure(3, "crashed NVIDIA's reader (signal 6)", scarce=True),
        ),
        (
            "os.kill(os.getpid(), signal.SIGKILL)",
            Failure(
                3, "was being read when NVIDIA's reader was killed (signal 9), as where memory runs out", scarce=True
            ),
        ),
        (
            "os.kill(os.getpid(), signal.SIGXCPU)",
            Failure(3, "took NVIDIA's reader more than 2 s of processor time", scarce=True),
        ),
        ("sys.exit(4)", Failure(3, "made NVIDIA's reader fail (exit code 4)")),
        ("sys.exit(b'\\xff'.decode(errors='replace'))", Failure(3, "made NVIDIA's reader fail (\ufffd)")),
        ("", Failure(None, "made NVIDIA's reader give no answer (Expecting value: line 1 column 1 (char 0))")),
        ("time.sleep(60)", Failure(3, "took NVIDIA's reader more than 1 s", scarce=True)),
        (
            "os.close(1); os.close(2); time.sleep(60)",
            Failure(3, "took NVIDIA's reader more than 1 s", scarce=True),
        ),
        (
            "os.write(2, b'x' * 3000000)",
            Failure(3, "made NVIDIA's reader give more than a report can hold"),
        ),
        (
            "sys.stdout.write('x' * 5000000)",
            Failure(3, "made NVIDIA's reader give more than a report can hold"),
        ),
    ],
)
def test_it_is_known_how_a_child_failed(
    shard: Shard, pretend: Pretend, monkeypatch: pytest.MonkeyPatch, program: str, expected: Failure
) -> None:
    monkeypatch.setattr(module, "LEAST_S", 0.5)
    monkeypatch.setattr(module, "_OUTPUT", 1 << 20)
    pretend(f"{BEGUN}\n{program}")
    assert failure(shard) == expected


def test_code_that_there_was_no_memory_for_is_not_taken_for_all_code(shard: Shard, pretend: Pretend) -> None:
    pretend(f"{sent(LAUNCHES)}; sys.stderr.write('fatal   : Memory allocation failure\\n')")
    assert failure(shard) == Failure(None, "was read with too little memory", scarce=True)


def test_a_report_in_which_nothing_is_found_may_need_more_memory(shard: Shard, pretend: Pretend) -> None:
    pretend(sent(0))
    assert failure(shard) == Failure(None, "announces 8 launches, of which NVIDIA's reader finds 0", scarce=True)


def test_launches_that_a_child_leaves_out_are_in_its_answer(shard: Shard, pretend: Pretend) -> None:
    pretend(sent(LAUNCHES, {5: "has 0 metrics"}))
    assert answer(shard).lost == {5: "has 0 metrics"}


@pytest.mark.parametrize(("index", "lost"), [([8], []), ([-1], []), ([0, 0], []), ([], [8]), ([3], [3])])
def test_launches_that_were_not_asked_for_are_refused(
    shard: Shard, pretend: Pretend, index: list[int], lost: list[int]
) -> None:
    pretend(sent(LAUNCHES, dict.fromkeys(lost, "has 0 metrics"), index))
    assert failure(shard) == Failure(None, "made NVIDIA's reader give launches that it was not asked for")


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise ImportError('no such library')", "ImportError: no such library"),
        ("import time; time.sleep(60)", "took NVIDIA's reader more than 1 s"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "signal 9"),
    ],
)
def test_a_child_that_never_begins_says_nothing_about_the_report(
    shard: Shard, pretend: Pretend, monkeypatch: pytest.MonkeyPatch, program: str, said: str
) -> None:
    if "sleep" in program:
        monkeypatch.setattr(module, "START_S", 1.0)
    pretend(program)
    with pytest.raises(ReportUnreadable, match=f"NVIDIA's reader of reports cannot start: .*{said}") as refused:
        Children("").read([shard], with_code=True)
    assert refused.value.hint


def test_a_missing_python_is_no_damage(shard: Shard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with pytest.raises(ReportUnreadable, match=r"cannot start: .*No such file"):
        Children("").read([shard], with_code=True)


def test_without_nvidias_reader_the_message_says_what_to_install(shard: Shard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ReportUnreadable, match="is not installed") as refused:
        Children("").read([shard], with_code=True)
    assert refused.value.hint == "pip install ncu-report"


def test_what_is_given_up_is_killed_and_so_is_what_starts_later(
    shard: Shard, pretend: Pretend, monkeypatch: pytest.MonkeyPatch
) -> None:
    children = Children("")
    begun = module._Run.follow

    def follow(run: module._Run, process: subprocess.Popen[bytes]) -> None:
        children.kill()
        begun(run, process)

    monkeypatch.setattr(module._Run, "follow", follow)
    pretend(f"{BEGUN}\ntime.sleep(60)")
    for _ in range(2):
        with pytest.raises(ReportUnreadable, match="signal 9"):
            children.read([shard], with_code=True)


def test_a_child_that_started_ahead_reads_the_first_shard(
    shard: Shard, pretend: Pretend, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answer(shard)
    with closing(ahead_of(tmp_path, pretend)) as started:
        wait_for(tmp_path / "rehearsed")
        monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
        children = Children(prestarted=[started])
        assert children.read([shard], with_code=True) == [expected]
        with pytest.raises(ReportUnreadable, match=r"cannot start: .*No such file"):
            children.read([shard], with_code=True)


@pytest.mark.parametrize("rehearse", [True, False])
def test_a_child_that_started_ahead_reads_launches_of_any_kernel(
    shard: Shard, monkeypatch: pytest.MonkeyPatch, *, rehearse: bool
) -> None:
    with closing(PrestartedChildren(rehearse=rehearse)) as started:
        monkeypatch.setattr(sys, "executable", "/missing")
        (answer,) = Children("pinnedCopies", [started]).read([shard], with_code=True)
    assert isinstance(answer, Answer)
    assert set(answer.reading.launches.kernel) == {"pinnedCopies"}


def test_a_child_that_finds_other_modules_is_not_used(shard: Shard) -> None:
    with closing(PrestartedChildren()) as started:
        started.environment = {**started.environment, "PYTHONPATH": "/missing"}
        Children("pinnedCopies", [started]).read([shard], with_code=True)
        assert started._children


@pytest.mark.parametrize("kernel", ["pinnedCopies", "regex:^pinned"])
def test_children_that_started_for_a_kernel_read_one_shard_each(
    shard: Shard, kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(PrestartedChildren(2, kernel)) as started:
        monkeypatch.setattr(sys, "executable", "/missing")
        children = Children(kernel, [started])
        assert all(isinstance(children.read([shard], with_code=True)[0], Answer) for _ in range(2))
        with pytest.raises(ReportUnreadable, match="cannot start"):
            children.read([shard], with_code=True)


@pytest.mark.parametrize("rehearsal", [RECORDED, Path("missing.ncu-rep")])
def test_where_it_ended_meanwhile_another_reads(shard: Shard, rehearsal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "REHEARSAL", rehearsal)
    with closing(PrestartedChildren()) as started:
        process = started._children[0].process
        if rehearsal == RECORDED:
            process.kill()
        process.wait()
        assert isinstance(Children(prestarted=[started]).read([shard], with_code=True)[0], Answer)


def test_a_child_without_a_task_ends_when_it_is_closed(pretend: Pretend, tmp_path: Path) -> None:
    with closing(ahead_of(tmp_path, pretend)) as started:
        process = started._children[0].process
        assert process.poll() is None
    assert process.poll() == -9


def test_a_child_whose_parent_has_ended_ends_by_itself(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys; from ncuview.reader.child import PrestartedChildren\n"
        "print(PrestartedChildren()._children[0].process.pid, flush=True); os.kill(os.getpid(), signal.SIGKILL)"
    )
    said = subprocess.run([sys.executable, "-P", "-c", program], stdout=subprocess.PIPE, check=False, cwd=tmp_path)
    assert said.returncode == -9
    ended = time.monotonic() + 30
    while is_running(int(said.stdout)) and time.monotonic() < ended:
        time.sleep(0.05)
    assert not is_running(int(said.stdout))


def test_where_nothing_can_start_ahead_the_reader_of_the_report_says_why(
    shard: Shard, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "missing"))
    with (
        closing(PrestartedChildren()) as started,
        pytest.raises(ReportUnreadable, match=r"cannot start: .*No such file"),
    ):
        Children(prestarted=[started]).read([shard], with_code=True)


def ahead_of(folder: Path, pretend: Pretend) -> PrestartedChildren:
    """A child that leaves a file when it has rehearsed."""
    pretend(
        "import sys\n"
        "import ncuview.reader.native as native\n"
        "rehearse = native._rehearse\n"
        "def rehearsed(*words, **chosen):\n"
        "    rehearse(*words, **chosen)\n"
        f"    open({str(folder / 'rehearsed')!r}, 'w').close()\n"
        "native._rehearse = rehearsed\n"
        "native.main(*sys.argv[6:])\n"
    )
    return PrestartedChildren()


def wait_for(file: Path) -> None:
    """Until it is there."""
    last = time.monotonic() + 30
    while not file.exists():
        assert time.monotonic() < last
        time.sleep(0.02)


def is_running(process: int) -> bool:
    """Whether it is there and not a zombie."""
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except FileNotFoundError:
        return False


def test_a_child_does_not_outlive_an_interrupt(shard: Shard, pretend: Pretend, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    def interrupt(_: object, process: subprocess.Popen[bytes]) -> None:
        started.append(process)
        raise KeyboardInterrupt

    pretend(f"{BEGUN}\ntime.sleep(60)")
    monkeypatch.setattr(module._Run, "follow", interrupt)
    with pytest.raises(KeyboardInterrupt):
        Children("").read([shard], with_code=True)
    assert started[0].wait() == -9
