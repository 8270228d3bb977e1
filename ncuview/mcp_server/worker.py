"""The process that does the work of one request after the other: ``python -m ncuview.mcp_server.worker``.

It is given a private folder for all that it writes. The first line on standard input has the settings (``Settings``),
each further one a request: a tool and its arguments. Each answer is a line on standard output. The end of standard
input, also while a request is worked on, ends the process and all that it has started, and removes the folder, as
SIGTERM ends a command: no one waits for the answer.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from queue import SimpleQueue
from threading import Thread, main_thread
from typing import IO, Any, Protocol

import ncuview
from ncuview.base.errors import NcuviewError
from ncuview.base.files import read_only_below
from ncuview.base.paths import keep_error, shipped
from ncuview.base.signals import Terminated, install_signal_handlers
from ncuview.mcp_server.answers import Served
from ncuview.mcp_server.problems import error_document
from ncuview.mcp_server.roots import Roots
from ncuview.mcp_server.settings import Settings
from ncuview.render.text import json_line, safe_page

_INTERNAL_ERROR = 70
_GRACE_S = 10.0
"""Seconds to end what was started. What reads reports, and what stands by ncu, ends with this process in any case."""


class Answering(Protocol):
    """What answers: ``Served``."""

    trial: dict[str, Any] | None

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The document that a tool answers with."""


def main() -> None:
    """Answer requests until standard input ends."""
    requests, answers = _own_streams()
    folder = Path(sys.argv[1])
    install_signal_handlers()
    try:
        settings = Settings.from_json(requests.readline())
        waiting: SimpleQueue[bytes] = SimpleQueue()
        Thread(target=_listen, args=(requests, waiting, folder), daemon=True).start()
        served = _confined(settings, folder)
        while True:
            answers.write(json_line(answer_to(served, json.loads(waiting.get()))).encode())
            answers.flush()
    except (Terminated, KeyboardInterrupt, BrokenPipeError):
        shutil.rmtree(folder, ignore_errors=True)
        sys.stderr.flush()
        os._exit(0)  # what this process had started has ended, and Python's own end takes time


def _own_streams() -> tuple[IO[bytes], IO[bytes]]:
    """Standard input and output; what else reads or writes there, as a program that is profiled, gets neither."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    with FileIO(os.devnull) as nothing:
        os.dup2(nothing.fileno(), 0)
    os.dup2(2, 1)
    return requests, answers


def _listen(requests: IO[bytes], waiting: SimpleQueue[bytes], folder: Path) -> None:
    for line in requests:
        waiting.put(line)
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(main_thread().ident or 0, signal.SIGTERM)
    else:  # Windows ends the process at once
        os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE_S)
    shutil.rmtree(folder, ignore_errors=True)  # a long query of DuckDB does not see the signal
    os._exit(_INTERNAL_ERROR)  # an exception in the middle of an import can leave Python's lock of imports behind


def _confined(settings: Settings, folder: Path) -> Served:
    """What answers requests, in a process that opens files below the roots only, beside those that are ncuview's.

    Reports of programs that are run lie in ``folder``.
    """
    roots = Roots(tuple(map(Path, settings.roots)))
    rules = tuple(map(Path, settings.rules))
    tempfile.tempdir = str(folder)
    os.chdir(roots.folders[0])
    package = Path(ncuview.__file__).parent
    read_only_below([*roots.folders, *rules, folder, package, shipped("kernels"), shipped("rules")])
    return Served(roots, rules, allow_run=settings.allow_run)


def answer_to(served: Answering, request: dict[str, Any]) -> dict[str, Any]:
    """The answer to a request under ``answer``, or the error under ``error``.

    A trial that was run is under ``kept``, for requests of further parts of it.
    """
    try:
        return {"answer": served.answer(request["tool"], request["arguments"]), "kept": served.trial}
    except NcuviewError as error:
        return error_document(str(error), error.hint, error.id, error.exit_code)
    except Exception as error:  # noqa: BLE001  (a bug must not end the process, nor leave the client without an answer)
        sys.stderr.write(safe_page(traceback.format_exc()))
        keep_error(error, _INTERNAL_ERROR)
        said = f"internal error: {type(error).__name__}"
        hint = "This is a bug of ncuview; `ncuview doctor --bundle FILE.zip` collects what to send."
        return error_document(said, hint, "InternalError", _INTERNAL_ERROR)


if __name__ == "__main__":
    main()
