"""``install_signal_handlers`` makes SIGTERM raise ``Terminated``, and raises it or Ctrl-C again where Python drops it.

Python drops an exception that a signal raises inside a callback of its garbage collector or import system.
"""

from __future__ import annotations

import signal
import sys
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

_SOON_S = 0.01


class Terminated(BaseException):
    """SIGTERM arrived. A BaseException, as KeyboardInterrupt is, so that child processes are stopped on the way out."""


def install_signal_handlers() -> None:
    """Let SIGTERM raise ``Terminated``, and raise the exception of either signal again where Python dropped it.

    Python drops it in callbacks of the garbage collector and of the import system, and the run would continue. SIGINT
    stays ignored where the shell started ncuview so.
    """
    signal.signal(signal.SIGTERM, partial(_raise, Terminated))
    sys.unraisablehook = _dropped


def _dropped(lost: UnraisableHookArgs) -> None:
    if lost.exc_type in {KeyboardInterrupt, Terminated} and hasattr(signal, "setitimer"):  # Windows has no timer
        signal.signal(signal.SIGALRM, partial(_raise, lost.exc_type))
        signal.setitimer(signal.ITIMER_REAL, _SOON_S)  # later: this is still the callback
    else:
        sys.__unraisablehook__(lost)


def _raise(error: type[BaseException], _number: int, _frame: FrameType | None) -> NoReturn:
    raise error
