"""``try`` through the official client: dry runs, what is refused, and a trial whose build is cancelled."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ncuview.base.errors import UsageError
from ncuview.base.paths import shipped
from ncuview.base.signals import Terminated
from ncuview.mcp_server.answers import Served
from ncuview.mcp_server.arguments import Try
from ncuview.mcp_server.roots import Roots
from ncuview.mcp_server.trial_parts import kept_of, part
from ncuview.pipeline import trials
from ncuview.records.diagnosis import Gain
from ncuview.records.profile import Device
from ncuview.records.trial import Attempt, Bound, Trial
from ncuview.render.text import json_line
from tests.command_line import ROOT, ncuview
from tests.mcp_server.client import Client, served
from tests.mcp_server.test_processes import is_alive, server_of, started, until
from tests.profiling.test_machine import Machine, gpu
from tests.test_try import SAXPY

LAUNCH: dict[str, Any] = {
    "grid": "n / 256",
    "block": "256",
    "args": ["out float32[n]", "in float32[n]", "float32 = 2", "int32 = n"],
    "sizes": ["n=65536"],
}
TABS = re.sub(r"(?m)^    ?", "\t", (shipped("kernels") / "transpose" / "transposeNaive.cu").read_text())


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    root = tmp_path_factory.mktemp("root")
    (root / "saxpy.cu").write_text(SAXPY)
    (root / "tabs.cu").write_text(TABS)
    (root / "app.py").write_text("raise SystemExit('nothing runs')")
    with served(root) as connected:
        yield connected


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server that may run programs, on a machine without a GPU."""
    root = tmp_path_factory.mktemp("running")
    (root / "app.py").write_text("raise SystemExit('nothing runs')")
    with served(root, options=["--allow-run"]) as connected:
        yield connected


def patch_of(client: Client, key: str, **arguments: Any) -> str:
    """All lines of the patch of a change, over its cursors."""
    lines: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = client.ask("try", key=key, cursor=cursor, dry_run=True, **arguments)
        assert answer.size <= 6_000
        page = answer.document["opened"]["diff"]
        assert page["exact"]
        lines += page["items"]
        cursor = page["cursor"]
    assert len(lines) == page["total"]
    return "\n".join(lines) + "\n"


def test_a_dry_run_answers_with_the_changes_of_the_command_line(client: Client) -> None:
    printed = ncuview("try", "transposeNaive", "--dry-run").out
    answer = client.ask("try", target="transposeNaive", dry_run=True)
    assert answer.size <= 6_000
    changes = answer.document["changes"]
    assert changes["total"] == changes["shown"] == len(changes["items"]) >= 3
    assert {each["kind"] for each in changes["items"]} == {"edit", "ablation"}
    assert (answer.document["found"], answer.document["patch"]["total"]) == (None, 0)
    for each in changes["items"]:
        assert f"{each['kind']} ({each['rule']}): {each['title']}" in printed
        assert (each["decision"] == "not written") == bool(each["reason"])


def test_a_dry_run_of_a_program_answers_from_its_source(client: Client) -> None:
    arguments = {"program": ["./app"], "tree": str(client.root), "kernel_name": "transposeNaive"}
    answer = client.ask("try", **arguments, dry_run=True)
    assert answer.document["kernel"] == "transposeNaive"
    rules = {each["rule"] for each in answer.document["changes"]["items"] if each["kind"] == "ablation"}
    assert any("GMEM001" in rule for rule in rules)


def test_each_patch_of_a_dry_run_applies(client: Client, tmp_path: Path) -> None:
    changes = client.ask("try", target="transposeNaive", dry_run=True).document["changes"]["items"]
    written = [each for each in changes if not each["reason"]]
    assert len(written) >= 3
    for number, each in enumerate(written):
        folder = tmp_path / str(number)
        (folder / "transpose").mkdir(parents=True)
        shutil.copy(shipped("kernels") / "transpose" / "transposeNaive.cu", folder / "transpose")
        applied(folder, patch_of(client, each["key"], target="transposeNaive"))


def applied(folder: Path, patch: str) -> None:
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    done = subprocess.run(command, cwd=folder, input=patch, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr + patch


def test_a_patch_keeps_its_tabs(client: Client, tmp_path: Path) -> None:
    changes = client.ask("try", target="tabs.cu", dry_run=True).document["changes"]["items"]
    key = next(each["key"] for each in changes if not each["reason"])
    patch = patch_of(client, key, target="tabs.cu")
    assert "\n \t" in patch
    (tmp_path / "tabs.cu").write_text(TABS)
    applied(tmp_path, patch)


# What is refused


@pytest.mark.parametrize("arguments", [{"target": "transposeNaive"}, {"program": ["app.py"], "build": "touch built"}])
def test_without_the_option_nothing_is_tried(client: Client, arguments: dict[str, Any]) -> None:
    error = client.error("try", **arguments)
    assert (error["id"], "--allow-run" in error["hint"]) == ("NeedsAllowRun", True)
    assert not (client.root / "built").exists()


@pytest.mark.parametrize("arguments", [{"target": "transposeNaive"}, {"program": ["app.py"], "build": "touch built"}])
def test_without_a_gpu_the_error_is_that_of_the_command_line(running: Client, arguments: dict[str, Any]) -> None:
    error = running.error("try", **arguments)
    words = ("try", arguments["target"]) if "target" in arguments else ("try", "--", *arguments["program"])
    ended = ncuview(*words, cwd=running.root)
    assert error["exit_code"] == ended.code == 5
    assert error["message"] in ended.err
    assert error["hint"] in ended.err
    assert not (running.root / "built").exists()


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({}, "UsageError", "one of target and program"),
        ({"target": "transposeNaive", "program": ["app.py"]}, "UsageError", "one of target and program"),
        ({"program": ["app.py"], "grid": "1", "dry_run": True}, "UsageError", "are for kernels"),
        ({"program": ["app.py"], "grid": "1"}, "UsageError", "are for kernels"),
        ({"target": "transposeNaive", "build": "make"}, "UsageError", "are for programs"),
        ({"target": "transposeNive", "dry_run": True}, "UnknownKernel", "transposeNive"),
        ({"target": "transposeNaive", "grid": "1", "dry_run": True}, "UsageError", "are for .cu files"),
        ({"target": "saxpy.cu", "dry_run": True}, "UsageError", "does not define how its kernel is launched"),
        ({"target": "lost.cu", "dry_run": True}, "KernelFileError", "lost.cu"),
        ({"target": "transposeNaive", "dry_run": True, "cursor": "x/patch/1"}, "UsageError", "no cursor"),
        ({"target": "transposeNaive", "dry_run": True, "key": "x/change-1"}, "UsageError", "no change has the key"),
        ({"target": "transposeNaive", "key": "x/change-1"}, "UsageError", "no longer known"),
        ({"target": "transposeNaive", "budget_s": 0}, "UsageError", "budget_s"),
        ({"target": "transposeNaive", "budget_s": 1e9}, "UsageError", "budget_s"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else str(value),
)
def test_what_does_not_fit_together_is_refused(
    client: Client, arguments: dict[str, Any], error: str, says: str
) -> None:
    found = client.error("try", **arguments)
    assert (found["id"], says in found["message"]) == (error, True), found


@pytest.mark.parametrize("name", ["../saxpy.cu", "/etc/saxpy.cu", "/dev/zero.cu", "../../etc/passw", "/etc/passw"])
def test_a_kernel_outside_of_the_roots_is_refused_whether_it_exists_or_not(client: Client, name: str) -> None:
    found = client.error("try", target=name, dry_run=True, **(LAUNCH if name.endswith(".cu") else {}))
    assert (found["id"], "passwd" in str(found)) == ("OutsideRoots", False)


def test_a_link_to_a_kernel_outside_of_the_roots_is_refused(client: Client, tmp_path: Path) -> None:
    (tmp_path / "secret.cu").write_text(SAXPY)
    (client.root / "link.cu").symlink_to(tmp_path / "secret.cu")
    assert client.error("try", target="link.cu", dry_run=True, **LAUNCH)["id"] == "OutsideRoots"


def test_a_tree_outside_of_the_roots_is_refused(running: Client, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text("raise SystemExit('nothing runs')")
    for arguments in ({"program": ["./app"], "tree": str(tmp_path)}, {"program": [str(tmp_path / "app.py")]}):
        assert running.error("try", **arguments)["id"] == "OutsideRoots"


# A trial that was run


def attempt(number: int, **others: Any) -> Attempt:
    gain = Gain(1.1, 1.2, 1.3)
    diff = "".join(f"+line {number}.{at}\n" for at in range(400))
    made = Attempt(
        f"Change {number}", "coalescing", "GMEM001", number, "kept", "", gain, None, gain, "", ("equal",), diff
    )
    return replace(made, **others)


TRIAL = Trial(
    target="app",
    kernel="k",
    device=Device("NVIDIA H200", "9.0"),
    grid=(1, 2, 3),
    block=(32, 1, 1),
    sizes={"n": 4},
    attempts=(
        *(attempt(number) for number in range(40)),
        attempt(
            40,
            decision="refuted",
            reason="racecheck finds more",
            bound=Bound("x", Gain(2, 3, 4), "at most", "", "", "", ""),
        ),
    ),
    before_ns=2_000.0,
    gain=Gain(1.5, 1.6, 1.7),
    end_to_end=None,
    patch="".join(f"+line {number}\n" for number in range(900)),
    before=None,
    after=None,
    stopped="the time is up",
)


@pytest.mark.parametrize("most", [6_000, 32_768])
def test_all_changes_and_lines_of_a_trial_are_reached_in_bounded_parts(most: int) -> None:
    kept = json.loads(json_line(kept_of(TRIAL)))  # as the server has it, from its worker
    found: dict[str, list[Any]] = {"changes": [], "patch": []}
    for name in found:
        cursor = f"{kept['document']}/{name}/0"
        while cursor is not None:
            answer = part(kept, key="", cursor=cursor, max_bytes=most)
            assert len(json_line(answer).encode()) <= most
            found[name] += answer[name]["items"]
            cursor = answer[name]["cursor"]
    assert "\n".join([*found["patch"], ""]) == TRIAL.patch
    assert [each["title"] for each in found["changes"]] == [each.title for each in TRIAL.attempts]
    (last,) = (each for each in found["changes"] if each["decision"] == "refuted")
    assert (last["reason"], last["at_most"], last["at_least"]) == ("racecheck finds more", 3, None)
    opened = part(kept, key=last["key"], cursor="", max_bytes=most)["opened"]
    assert opened["diff"]["items"][0] == "+line 40.0"
    assert opened["checks"] == "equal"
    with pytest.raises(UsageError, match="no cursor"):
        part(kept, key=last["key"], cursor=f"{kept['document']}/patch/1", max_bytes=most)


def test_the_first_part_has_what_was_found() -> None:
    found = part(kept_of(TRIAL), key="", cursor="", max_bytes=6_000)["found"]
    assert found["result"].startswith("1.60x faster (1.50x to 1.70x)")
    assert (found["kept"], found["before_ns"], found["stopped"]) == (40, 2_000, "the time is up")
    assert "NVIDIA H200" in found["conditions"]


def test_a_line_of_any_length_fits() -> None:
    kept = kept_of(replace(TRIAL, patch=f"+{'x' * 100_000}\n+y\n", attempts=()))
    patch = part(kept, key="", cursor="", max_bytes=6_000)["patch"]
    assert (patch["shown"], patch["exact"]) == (2, False)


@pytest.mark.parametrize("end", ["\r", "\x1b[2J", "\u202e", "##[error]"])
def test_a_line_that_cannot_be_shown_as_it_is_makes_the_patch_inexact(end: str) -> None:
    patch = part(kept_of(replace(TRIAL, patch=f"+x\n+y{end}\n")), key="", cursor="", max_bytes=6_000)["patch"]
    assert (patch["exact"], len(patch["items"]), end in patch["items"][1]) == (False, 2, False)


# Runs


@pytest.fixture
def builds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    """A machine with a GPU that is named, and a compiler that makes empty files: enough to come to the build."""
    here = Machine(tmp_path, monkeypatch)
    here.answer_nvidia_smi(gpu())
    here.install("path/nvcc", 'while [ "$1" != -o ]; do shift; done; : > "$2"')
    here.install("root/app")
    (tmp_path / "private").mkdir()
    return here


def serving(builds: Machine) -> AbstractContextManager[Client]:
    private = str(builds.root / "private")
    return served(builds.root / "root", options=["--allow-run"], path=builds.root / "path", TMPDIR=private)


def build_of(pids: Path) -> str:
    """A build that writes its processes and does not end. A background job would ignore SIGINT, for ten seconds."""
    inner = f"echo $$ $PPID > {pids}.new; /bin/mv {pids}.new {pids}; exec /bin/sleep 600"
    return f": > made; /bin/sh -c '{inner}'; :"


def processes_in(pids: Path) -> list[int]:
    return [int(each) for each in until(lambda: pids.exists() and pids.read_text()).split()]


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_cancelled_trial_ends_its_build_and_leaves_no_file(builds: Machine) -> None:
    root, private, pids = builds.root / "root", builds.root / "private", builds.root / "pids"
    with serving(builds) as client:
        asked = client.start("try", program=["./app"], build=build_of(pids))
        processes = processes_in(pids)
        assert [*private.rglob("made")]
        assert all(map(is_alive, processes))
        client.ask("explain", name="l2")
        assert asked.cancel()
        until(lambda: not any(map(is_alive, processes)))
        until(lambda: not [*private.rglob("made")])
    until(lambda: not [*private.iterdir()])
    assert [each.name for each in root.iterdir()] == ["app"]


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_one_trial_is_run_at_a_time(builds: Machine) -> None:
    with serving(builds) as client:
        asked = [
            client.start("try", program=["./app"], build=build_of(builds.root / name)) for name in ("first", "second")
        ]
        (first,) = until(lambda: [name for name in ("first", "second") if (builds.root / name).exists()])
        client.ask("explain", name="l2")
        assert len(started(server_of(client), "ncuview.mcp_server.worker")) == 2
        second = "second" if first == "first" else "first"
        assert not (builds.root / second).exists()
        assert asked[first == "second"].cancel()
        processes = processes_in(builds.root / second)
    until(lambda: not any(map(is_alive, processes)))


ONE_TRIAL = """
import sys
if "ncuview.mcp_server.worker" in sys.orig_argv:
    from dataclasses import replace
    from pathlib import Path

    import ncuview.pipeline.trials
    from tests.mcp_server.test_try import TRIAL

    def once(command, *others, **named):
        Path("ran").touch(exist_ok=False)
        return replace(TRIAL, target=" ".join(command))

    ncuview.pipeline.trials.try_program = once
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_a_trial_is_run_once_and_read_on_from_the_server_also_where_its_process_has_ended(
    tmp_path: Path,
) -> None:
    (tmp_path / "sitecustomize.py").write_text(ONE_TRIAL)
    (tmp_path / "root").mkdir()
    path = os.pathsep.join([str(tmp_path), str(ROOT)])
    with served(tmp_path / "root", options=["--allow-run"], PYTHONPATH=path) as running:
        first = running.ask("try", program=["./app"]).document
        assert first["found"]["result"].startswith("1.60x faster")
        for process in started(server_of(running), "ncuview.mcp_server.worker"):
            os.kill(process, signal.SIGKILL)
        lines: list[str] = []
        cursor = first["patch"]["cursor"]
        while cursor is not None:
            answer = running.ask("try", program=["./app"], cursor=cursor)
            assert answer.size <= 6_000
            lines += answer.document["patch"]["items"]
            cursor = answer.document["patch"]["cursor"]
        key = first["changes"]["items"][0]["key"]
        opened = running.ask("try", program=["./app"], key=key).document["opened"]
    assert "\n".join([*first["patch"]["items"], *lines, ""]) == TRIAL.patch
    assert opened["diff"]["items"][0] == "+line 0.0"


def test_a_trial_that_is_ended_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(trials, "try_program", lambda *_, **__: replace(TRIAL, stopped="terminated"))
    arguments = Try(program=["./app"], args=[], sizes=[]).model_dump()
    with pytest.raises(Terminated):
        Served(Roots((tmp_path,)), (), allow_run=True).answer("try", {**arguments, "kept": None})


@pytest.mark.skipif(sys.platform != "linux", reason="programs are run by the guard, which needs Linux")
def test_a_build_that_fails_is_an_error_with_its_last_words(builds: Machine) -> None:
    with serving(builds) as client:
        error = client.error("try", program=["./app"], build="echo no such header >&2; exit 3")
    assert (error["id"], "no such header" in error["message"]) == ("CompileFailed", True)
