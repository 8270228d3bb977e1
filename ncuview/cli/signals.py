"""Raise the exception ``Terminated`` on SIGTERM, and raise it or Ctrl-C again where Python dropped it in a callback."""

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
    """SIGTERM arrived: like KeyboardInterrupt, so that child processes are stopped on the way out."""


def hear_signals() -> None:
    """Let SIGTERM raise ``Terminated``, and raise what either signal raises again where Python dropped it.

    That is in callbacks of the garbage collector and of the import system: a run that is interrupted while one of them
    is at work would go on as if nothing had been said. SIGINT stays ignored where a shell has started us so.
    """
    signal.signal(signal.SIGTERM, partial(_raise, Terminated))
    sys.unraisablehook = _dropped


def _dropped(lost: UnraisableHookArgs) -> None:
    if lost.exc_type in {KeyboardInterrupt, Terminated} and hasattr(signal, "setitimer"):  # Windows has no timer
        signal.signal(signal.SIGALRM, partial(_raise, lost.exc_type))
        signal.setitimer(signal.ITIMER_REAL, _SOON_S)  # not at once: this is still the callback
    else:
        sys.__unraisablehook__(lost)


def _raise(error: type[BaseException], _number: int, _frame: FrameType | None) -> NoReturn:
    raise error
