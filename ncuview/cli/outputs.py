"""Where an answer goes, and in which form: standard output, and any number of files."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ncuview.cli.printing import color, print_text, width
from ncuview.errors import UsageError
from ncuview.render.outputs import FORMATS, destination, output_text, write_output

if TYPE_CHECKING:
    from ncuview.diagnose.compare import Comparison
    from ncuview.model import Diagnosis, Gate, Ladder, Profile
    from ncuview.ruleset.spec import Rule

_TEXTS = tuple(name for name, form in FORMATS.items() if not form.binary)

FormatOption = Annotated[str, typer.Option("--format", metavar="NAME", help=f"What is printed: {', '.join(_TEXTS)}.")]
OutputOption = Annotated[
    list[str] | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Also write the answer to a file; its ending says the format, or FORMAT:FILE does. Repeatable.",
    ),
]
SourceRootOption = Annotated[
    Path | None, typer.Option("--source-root", help="What paths of sources are relative to. Default: this folder.")
]


class ListFormat(StrEnum):
    """What a list is printed as."""

    TERMINAL = "terminal"
    JSON = "json"


ListFormatOption = Annotated[ListFormat, typer.Option("--format", help="For people, or for programs.")]


def destinations(to: str, output: Sequence[str] | None) -> tuple[tuple[str, Path], ...]:
    """Format and path of each output file; these and the printed format are checked before any work is done."""
    if to not in _TEXTS:
        raise UsageError(f"--format {to}: there is no such format of text", hint=f"There are {', '.join(_TEXTS)}.")
    return tuple(destination(word) for word in output or ())


def deliver(
    answer: Diagnosis | Ladder | Comparison,
    to: str,
    files: Sequence[tuple[str, Path]],
    *,
    gate: Gate | None = None,
    top: int | None = None,
    rules: Sequence[Rule] | None = None,
    source_root: Path | None = None,
    profile: Profile | None = None,
) -> None:
    """Write an answer into its files, then print it; ``profile`` is what it is a diagnosis of, where there is one."""

    def content(form: str) -> str | bytes:
        if form == "terminal" and gate is None:
            from ncuview.render import render

            return render(answer, top=top)
        return output_text(answer, gate, form, source_root=source_root, rules=rules, profile=profile)

    for form, path in files:
        write_output(path, content(form))
    printed = content(to) if to != "terminal" else _page(answer, gate, top)
    assert isinstance(printed, str)  # noqa: S101  (destinations refuses what is no text)
    print_text(printed)


def _page(answer: Diagnosis | Ladder | Comparison, gate: Gate | None, top: int | None) -> str:
    """What this terminal shows: the gate alone where there is one, since whoever asks for it wants its answer."""
    if gate is not None:
        from ncuview.render.gate import gate_page

        return gate_page(gate, width=width(), color=color())
    from ncuview.render import render

    return render(answer, width=width(), color=color(), top=top)
