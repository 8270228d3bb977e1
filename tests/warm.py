"""Runs of the command line as forks of a process that has everything loaded, in a fifth of the time of a new Python.

What a run gets and leaves is its own: arguments, environment, folder, standard streams and exit code. Recorded profiles
come from ``tests.profiles``. What depends on how Python starts needs a Python of its own.
"""

from __future__ import annotations

import atexit
import json
import os
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, cast

ROOT = Path(__file__).resolve().parents[1]
_LONGEST = 1 << 18
_NEEDED = (
    "ncuview.cli",
    "ncuview.patch",
    "ncuview.render.terminal",
    "ncuview.render.outputs",
    "ncuview.gate.judge",
)
_OFTEN = {"bank_patterns", "calibration", "divergence", "transpose"}
"""Families whose recorded profiles many tests diagnose."""
_OF_PYTHON = ("PYTHON", "LANG", "LC_")


def starts_python_differently(variables: Mapping[str, str]) -> bool:
    """Whether there is one among them that Python looks at when it starts."""
    return any(name.startswith(_OF_PYTHON) for name in variables)


def run_warm(
    args: Sequence[str], before: str, environment: Mapping[str, str], folder: Path | None, timeout_s: float
) -> subprocess.CompletedProcess[bytes]:
    """What ``python -m ncuview`` with these arguments does, after this Python, in this environment and folder."""
    with ExitStack() as held:
        out, err = (cast("BinaryIO", held.enter_context(tempfile.TemporaryFile())) for _ in range(2))
        nothing = held.enter_context(Path(os.devnull).open("rb"))
        request = {
            "args": list(args),
            "before": before,
            "environment": dict(environment),
            "folder": str(folder or Path.cwd()),
        }
        waiting = _waiting()
        waiting.settimeout(timeout_s)
        streams = [stream.fileno() for stream in (nothing, out, err)]
        socket.send_fds(waiting, [json.dumps(request).encode()], streams)
        try:
            code = int(waiting.recv(64))
        except TimeoutError as error:  # its answer must not be taken for that of the next run
            waiting.close()
            _waiting.cache_clear()
            raise subprocess.TimeoutExpired(args, timeout_s) from error
        out.seek(0)
        err.seek(0)
        return subprocess.CompletedProcess(args, code, out.read(), err.read())


@cache
def _waiting() -> socket.socket:
    """The way to the process that waits; it ends when this one does, which closes its end."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", __name__, str(its.fileno())]
    process = subprocess.Popen(
        command, cwd=ROOT, pass_fds=[its.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    its.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


def _serve(way: socket.socket) -> None:
    while True:
        message, streams, *_ = socket.recv_fds(way, _LONGEST, 3)
        if not message:
            return
        if (child := os.fork()) == 0:
            way.close()
            _become(json.loads(message), streams)
        for stream in streams:
            os.close(stream)
        way.send(str(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])).encode())


def _become(request: dict[str, Any], streams: Sequence[int]) -> None:
    code = 1
    try:
        for at, stream in enumerate(streams):
            os.dup2(stream, at)
            os.close(stream)
        os.environ.clear()
        os.environ.update(request["environment"])
        os.chdir(request["folder"])
        sys.path.insert(0, request["folder"])
        sys.argv = ["ncuview", *request["args"]]
        exec(compile(request["before"], "before", "exec"), {})
        from ncuview.cli import run

        run()
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _load() -> None:
    """Load what most commands need, and take recorded profiles from the store of the tests."""
    for module in _NEEDED:
        import_module(module)
    from ncuview.api import load_rules
    from ncuview.engine.rank import diagnose
    from ncuview.pipeline import profiled
    from ncuview.reader import reader
    from tests.profiles import RECORDED, read_stored

    reader.read = read_stored
    read_with_sources = profiled.read_with_sources
    often = {str(path): read_with_sources([path]) for path in RECORDED if path.parent.name in _OFTEN}
    for profile in often.values():
        diagnose(profile, load_rules())  # what is derived from a profile lives as long as it does

    def read_often(
        paths: Sequence[str | Path],
        kernel_name: str = "",
        source_folders: Sequence[Path] = (),
        ahead: Any = None,
        *,
        instructions: bool = True,
        meanwhile: Callable[[], object] | None = None,
    ) -> Any:
        plain = len(paths) == 1 and instructions and not (kernel_name or source_folders or ahead)
        if plain and str(paths[0]) in often:
            return often[str(paths[0])]
        return read_with_sources(
            paths,
            kernel_name,
            source_folders,
            ahead,
            instructions=instructions,
            meanwhile=meanwhile,
        )

    profiled.read_with_sources = read_often
    setattr(profiled, "early_reader", lambda *_: nullcontext())  # noqa: B010  (of another type)


if __name__ == "__main__":
    _load()
    _serve(socket.socket(fileno=int(sys.argv[1])))
