"""The Markdown pages of the project: their links and anchors, and the commands in their ``sh`` and ``console`` blocks.

A block is run in a copy of the checkout, in the order of its page, unless a comment ``<!-- needs ... -->`` before it
names a GPU or the reader's own files. .ci/run runs those of ``<!-- try -->``, ``<!-- test -->`` and
``<!-- nightly -->``. What is not run is parsed. A block after ``<!-- file: NAME -->`` is the text of a file that later
commands read.

In a ``console`` block a line with ``$ `` is a command, and the lines after it are what it prints. A line ``...`` stands
for any lines, and ``$ echo $?`` shows the exit code of the command before it. Every other command ends with 0.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from markdown_it import MarkdownIt

from ncuview.cli.app import _split_program, app

if TYPE_CHECKING:
    from markdown_it.token import Token

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 100
"""Columns of the terminal that the pages show."""
_ELIDED = "..."
_EXIT_CODE = "echo $?"
_LINE_CONTINUES = re.compile(r"\\\n\s*")
_SUBSTITUTED = re.compile(r"\$\(([^()]*)\)")
_REDIRECTED = re.compile(r"\s[12]?>\s*\S+")
_SEPARATORS = re.compile(r"[|&;()]+")
_OTHERS = frozenset({"cat", "git", "ncu", "nsys", "pip", "python", "python3", "sha256sum", "torchrun"})
"""Programs of others that pages show; a misspelt one is not among them."""


@dataclass
class Command:
    """A command that a page shows.

    Attributes:
        text: As written, in one line.
        runs: Whether it can be run anywhere, on recorded data.
        shown: The lines that it prints; none where the page does not show them.
        place: The lines of the page that ``shown`` are.
        exit_code: What the page says it ends with.
    """

    text: str
    runs: bool
    shown: list[str] = field(default_factory=list)
    place: range = range(0)
    exit_code: int = 0


@dataclass(frozen=True)
class File:
    """A file that a page shows, for the commands after it."""

    name: str
    text: str


@cache
def pages() -> tuple[Path, ...]:
    """All Markdown files of the checkout."""
    return tuple(
        path
        for path in sorted(ROOT.rglob("*.md"))
        if not any(part.startswith(".") for part in path.relative_to(ROOT).parts)
    )


def handwritten() -> list[Path]:
    """The pages for users and maintainers that no program writes."""
    root = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "docs/README.md")
    folders = (f"docs/{name}/*.md" for name in ("tutorial", "how-to", "explanation"))
    return [path for name in (*root, *folders) for path in sorted(ROOT.glob(name))]


@cache
def tokens(page: Path) -> list[Token]:
    """The parts of a page."""
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def links(page: Path) -> Iterator[str]:
    """The targets of links and images."""
    for token in tokens(page):
        for part in token.children or ():
            if part.type in {"link_open", "image"}:
                yield str(part.attrs.get("href") or part.attrs.get("src"))


@cache
def anchors(page: Path) -> frozenset[str]:
    """The names of a page's headings, as GitHub makes them."""
    found: list[str] = []
    for token, heading in pairwise(tokens(page)):
        if token.type == "heading_open":
            text = "".join(part.content for part in heading.children or ())
            name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            found.append(name if name not in found else f"{name}-{found.count(name)}")
    return frozenset(found)


def inline_code(page: Path) -> Iterator[str]:
    """What stands in backticks within sentences and tables."""
    for token in tokens(page):
        yield from (part.content for part in token.children or () if part.type == "code_inline")


def inline_commands(page: Path) -> Iterator[str]:
    """The commands of ncuview within sentences and tables."""
    return (text for text in inline_code(page) if text.startswith("ncuview "))


def commands(page: Path) -> Iterator[Command | File]:
    """The commands and files of a page, in its order."""
    comment = ""
    for token in tokens(page):
        if token.type == "html_block":
            comment = token.content.strip().removeprefix("<!--").removesuffix("-->").strip()
            continue
        if token.type == "fence":
            language = token.info.partition(" ")[0]
            kind, _, name = comment.partition(" ")
            if kind == "file:":
                yield File(name, token.content)
            elif language in {"sh", "console"}:
                runs = kind not in {"needs", "try", "test", "nightly"}
                yield from (_of_console if language == "console" else _of_shell)(token, runs)
        comment = ""


def _of_shell(token: Token, runs: bool) -> Iterator[Command]:
    for line in _LINE_CONTINUES.sub(" ", token.content).splitlines():
        if line.strip() and not line.startswith("#"):
            yield Command(line, runs)


def _of_console(token: Token, runs: bool) -> Iterator[Command]:
    assert token.map
    found: list[Command] = []
    for number, line in enumerate(token.content.splitlines(), start=token.map[0] + 1):
        if line.startswith("$ "):
            found.append(Command(line.removeprefix("$ "), runs, [], range(number + 1, number + 1)))
        elif found[-1].text.endswith("\\"):
            found[-1].text = f"{found[-1].text[:-1]}{line.lstrip()}"
            found[-1].place = range(number + 1, number + 1)
        else:
            found[-1].shown.append(line)
            found[-1].place = range(found[-1].place.start, number + 1)
    for command, after in zip(found, [*found[1:], None], strict=True):
        if after and after.text == _EXIT_CODE:
            command.exit_code = int(after.shown[0])
    yield from (command for command in found if command.text != _EXIT_CODE)


def check_words(command: str) -> None:
    """Parse a command as the shell and ncuview would, without what it redirects to files, and run nothing.

    Raises:
        Exception: It names a program, command or option that does not exist.
    """
    for inner in _SUBSTITUTED.findall(command):
        check_words(inner)
    words = shlex.shlex(_REDIRECTED.sub("", command), posix=True, punctuation_chars="|&;()")
    words.whitespace_split = True
    simple: list[str] = []
    for word in [*words, ";"]:
        if not _SEPARATORS.fullmatch(word):
            simple.append(word)
        elif simple:
            _check_simple(simple)
            simple = []


def _check_simple(words: Sequence[str]) -> None:
    program = Path(words[0]).name
    if program == "ncuview":
        arguments, others = _split_program(list(words[1:]))
        _descend(_ncuview(), _ncuview().make_context("ncuview", arguments, obj=others))
    else:
        assert program in _OTHERS, f"unknown program {program}"


@cache
def _ncuview() -> Any:
    return typer.main.get_command(app)


def _descend(command: Any, context: Any) -> None:
    """Parse the words of a group's command, and the words of the command that they name."""
    rest = [*context._protected_args, *context.args]
    if rest and hasattr(command, "resolve_command"):
        name, inner, words = command.resolve_command(context, rest)
        _descend(inner, inner.make_context(name, words, parent=context))


def run(page: Path, folder: Path, *, update: bool) -> None:
    """Run the commands of a page that can be run; each must end and print as shown.

    Args:
        page: The page.
        folder: An empty folder, which becomes a copy of what the commands read.
        update: Whether to write what is printed into the page, where it differs.
    """
    environment = _prepare(folder)
    changed: list[tuple[range, list[str]]] = []
    for each in commands(page):
        if isinstance(each, File):
            (folder / each.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / each.name).write_text(each.text, encoding="utf-8")
        elif each.runs:
            done = subprocess.run(
                ["bash", "-c", each.text],
                cwd=folder,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            assert done.returncode == each.exit_code, f"{each.text}\n{done.stdout}"
            printed = done.stdout.rstrip().splitlines()
            if each.shown and not _fits(each.shown, printed):
                assert update, f"{each.text}\n{done.stdout}"
                changed.append((each.place, _renewed(each.shown, printed)))
    lines = page.read_text(encoding="utf-8").splitlines()
    for place, shown in reversed(changed):
        lines[place.start : place.stop] = shown
    if changed:
        page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _prepare(folder: Path) -> dict[str, str]:
    """Copy what commands read, and give the environment of a machine without a GPU."""
    for name in ("examples", "kernels"):
        shutil.copytree(ROOT / name, folder / name)
    programs = {"ncuview": f'exec "{sys.executable}" -m ncuview "$@"', "nvidia-smi": "exit 1"}
    programs["python"] = programs["python3"] = f'exec "{sys.executable}" "$@"'
    (folder / ".bin").mkdir()
    for name, text in programs.items():
        (folder / ".bin" / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (folder / ".bin" / name).chmod(0o755)
    path = f"{folder / '.bin'}:{os.environ['PATH']}"
    return {"PATH": path, "HOME": str(folder / ".home"), "COLUMNS": str(WIDTH), "LANG": "C.UTF-8"}


def _fits(shown: Sequence[str], printed: Sequence[str]) -> bool:
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == _ELIDED else re.escape(f"{line}\n") for line in shown)
    return re.fullmatch(pattern, "".join(f"{line.rstrip()}\n" for line in printed)) is not None


def _renewed(shown: Sequence[str], printed: Sequence[str]) -> list[str]:
    """What is printed, with as many lines left out as before, around the lines that come closest to those shown."""
    found: list[str] = []
    at, left_out = 0, False
    for line in shown:
        if line.strip() == _ELIDED:
            found.append(line)
            left_out = True
            continue
        if left_out:
            rest = range(at, len(printed))
            at = max(rest, key=lambda place: SequenceMatcher(None, line, printed[place]).ratio(), default=at)
            left_out = False
        found += [text.rstrip() for text in printed[at : at + 1]]
        at += 1
    return found if left_out else [*found, *printed[at:]]
