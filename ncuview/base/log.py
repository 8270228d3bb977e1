"""What ncuview does, reported through Python's ``logging`` (``LOG``), and secrets masked with ``***``.

``log_command`` reports a program that is started; ``run_logged`` also runs it and returns its output.
``--log-level`` shows it on standard error. INFO names files, programs, passes and fallbacks, DEBUG the steps between.
``masked`` takes and returns a text, ``masked_words`` the words of a command line; the user's home folder becomes ``~``.
A secret is the value after a name such as token or password (``--token=...``, ``HF_TOKEN=...``, ``--password ...``),
the user in an address (``https://user:pass@host``), and a word with the prefix of a known service's tokens.
"""

from __future__ import annotations

import logging
import re
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

MASK = "***"

_NAME = r"[\w.-]*(?:token|secret|passw(?:or)?d|passphrase|credentials?|key|auth)"
_OPTION = re.compile(rf"--?{_NAME}", re.IGNORECASE)
_ASSIGNED = re.compile(rf"(?P<named>(?:^|[^\w.-]){_NAME}=).*", re.IGNORECASE | re.DOTALL)
_VALUE = r"""(?:"[^"]*"|'[^']*'|[^\s"',;)]+)"""
_IN_TEXT = re.compile(rf"(?P<named>(?<![\w.-])(?:--?{_NAME}(?:=|[ \t]+)|{_NAME}=)){_VALUE}", re.IGNORECASE)
_IN_ADDRESS = re.compile(r"(?P<named>(?<![a-z0-9+.-])[a-z][a-z0-9+.-]*+://)[^\s/@'\"]+@", re.IGNORECASE)
_WELL_KNOWN = re.compile(
    r"(?<![A-Za-z0-9])(?P<named>)"
    r"(?:gh[pousr]_|github_pat_|glpat-|hf_|sk-|xox[abprs]-|npm_|pypi-|AKIA|AIza|eyJ)[A-Za-z0-9_.-]{12,}"
)


def masked(text: str) -> str:
    """A message without secrets and without the user's home."""
    text = _IN_ADDRESS.sub(rf"\g<named>{MASK}@", text)
    for pattern in (_IN_TEXT, _WELL_KNOWN):
        text = pattern.sub(rf"\g<named>{MASK}", text)
    return _without_home(text)


def masked_words(words: Iterable[str]) -> Iterator[str]:
    """A command line without secrets, also if these contain blanks and quotes."""
    is_secret = False
    for word in words:
        yield MASK if is_secret else masked(_ASSIGNED.sub(rf"\g<named>{MASK}", word))
        is_secret = not is_secret and _OPTION.fullmatch(word) is not None


def _without_home(text: str) -> str:
    try:
        home = str(Path.home())
    except RuntimeError:  # the home folder is unknown
        return text
    return text if home == "/" else re.sub(rf"(?<![\w.~/-]){re.escape(home)}(?![\w.-])", "~", text)


LOG: Final = logging.getLogger("ncuview")


def log_command(words: Iterable[object], level: int = logging.INFO) -> None:
    """Report that a program is started, with its command line, whose secrets are masked."""
    if LOG.isEnabledFor(level):
        import shlex

        LOG.log(level, "starts %s", shlex.join(masked_words(map(str, words))))


def run_logged(words: Sequence[str | Path], **how: Any) -> subprocess.CompletedProcess[str]:
    """Report that a program is started, and run it to its end without input; ``how`` goes to ``subprocess.run``.

    Raises:
        OSError: It cannot be started.
        subprocess.TimeoutExpired: It did not end within ``how["timeout"]`` seconds.
    """
    log_command(words)
    return subprocess.run(
        words, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace", check=False, **how
    )
