"""What ncuview does, reported through Python's ``logging``: ``LOG``, and ``log_command`` for a program that is started.

``--log-level`` shows it on standard error. INFO names files, programs, passes and fallbacks, DEBUG the steps between.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final

from ncuview.base.masking import masked_words

LOG: Final = logging.getLogger("ncuview")


def log_command(words: Iterable[object], level: int = logging.INFO) -> None:
    """Report that a program is started, with its command line, whose secrets are masked."""
    if LOG.isEnabledFor(level):
        import shlex

        LOG.log(level, "starts %s", shlex.join(masked_words(map(str, words))))
