"""What ``ncuview mcp`` starts ends: by cancellation, with the client, by signals, and where something fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.load import write_report
from ncuview.mcp_server.worker import answer_to
from tests.command_line import assert_failed, ncuview
from tests.mcp_server.client import PATIENCE_S, Client, processes_below, served

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")

LAUNCHES = 3_000
"""A report that takes some seconds to read."""
WORKER, READER = "ncuview.mcp_server.worker", "ncuview.reader.native"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("processes")
    write_report(folder / "long.ncu-rep", LAUNCHES)
    return folder


@pytest.fixture
def client(root: Path) -> Iterator[Client]:
    with served(root) as connected:
        yield connected


def until(what: Callable[[], Any]) -> Any:
    """The first value of a condition that is true."""
    end = time.monotonic() + PATIENCE_S
    while not (found := what()):
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
    return found


def server_of(client: Client) -> int:
    """The process of the client's server."""
    found = processes_below(os.getpid())
    (number,) = (each for each, words in found.items() if f"mcp --root {client.root}" in words)
    return number


def started(server: int, what: str) -> list[int]:
    return [each for each, words in processes_below(server).items() if what in words]


def is_alive(process: int) -> bool:
    try:
        return (Path("/proc") / str(process) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_cancelled_diagnosis_ends_its_processes_and_the_server_answers_on(client: Client) -> None:
    server = server_of(client)
    asked = client.start("diagnose", reports=["long.ncu-rep"])
    readers = until(lambda: started(server, READER))
    workers = started(server, WORKER)
    client.ask("explain", name="l2")  # answered meanwhile, by another process
    assert not asked.done()
    assert asked.cancel()
    until(lambda: not any(map(is_alive, [*workers, *readers])))
    client.ask("explain", name="dram")
    assert not started(server, READER)


def test_the_end_of_the_client_ends_all(root: Path) -> None:
    with served(root) as client:
        server = server_of(client)
        client.start("diagnose", reports=["long.ncu-rep"])
        until(lambda: started(server, READER))
        below = [server, *processes_below(server)]
    until(lambda: not any(map(is_alive, below)))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_end_of_the_server_ends_all(root: Path, number: signal.Signals, tmp_path: Path) -> None:
    with served(root, TMPDIR=str(tmp_path)) as client:
        server = server_of(client)
        asked = client.start("diagnose", reports=["long.ncu-rep"])
        until(lambda: started(server, READER))
        below = [server, *processes_below(server)]
        os.kill(server, number)
        until(lambda: not any(map(is_alive, below)))
        until(asked.done)
    assert [*tmp_path.iterdir()] == []


def test_a_process_that_is_killed_is_an_error_and_the_next_request_gets_another(client: Client) -> None:
    asked = client.start("diagnose", reports=["long.ncu-rep"])
    until(lambda: started(server_of(client), READER))
    (worker,) = started(server_of(client), WORKER)
    os.kill(worker, signal.SIGKILL)
    error = asked.result(PATIENCE_S).error
    assert (error["id"], "signal 9" in error["message"]) == ("WorkerEnded", True)
    client.ask("explain", name="l2")


def test_an_idle_process_that_was_killed_is_replaced(client: Client) -> None:
    client.ask("explain", name="l2")
    (worker,) = started(server_of(client), WORKER)
    os.kill(worker, signal.SIGKILL)
    until(lambda: not is_alive(worker))
    client.ask("explain", name="l2")


def test_a_bug_is_an_error_without_its_text(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    class Broken:
        trial: dict[str, Any] | None = None

        def answer(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
            raise RuntimeError(f"{tool} {arguments}")

    error = answer_to(Broken(), {"tool": "plan", "arguments": {"secret": 1}})["error"]
    assert (error["id"], error["message"]) == ("InternalError", "internal error: RuntimeError")
    assert "RuntimeError: plan {'secret': 1}" in capsys.readouterr().err


def test_nothing_but_messages_is_written_to_standard_output(root: Path) -> None:
    said = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", '
    said += '"capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}\n'
    done = subprocess.run(
        [sys.executable, "-m", "ncuview", "mcp", "--root", root],
        input=said, capture_output=True, text=True, check=True, timeout=PATIENCE_S,
    )  # fmt: skip
    (line,) = done.stdout.splitlines()
    assert '"serverInfo":{"name":"ncuview"' in line
    assert done.stderr == ""


def test_a_missing_package_is_named_with_the_command_that_installs_it() -> None:
    assert_failed(
        ncuview("mcp", before="import sys; sys.modules['mcp'] = None"), 5, "package mcp", "pip install 'ncuview[mcp]'"
    )


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    assert_failed(ncuview("mcp", "--root", tmp_path / "none"), 2, "--root", "is no folder")
