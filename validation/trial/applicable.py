"""To how many kernels each structural edit applies, and why not to the others.

python -m validation.trial.applicable [MAKER ...]
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from ncuview.patch import STRUCTURAL, Maker
from ncuview.patch.patch import Refused
from ncuview.patch.program import Program

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("kernels/*/*.cu", "validation/programs/[!q]*.cu")
SHOWN = 15


def kernels(paths: Sequence[Path]) -> Iterator[tuple[Path, Program, str]]:
    """Every kernel that the files define."""
    for path in paths:
        program = Program.read(path.read_bytes().decode("utf-8", "surrogateescape"), str(path))
        for name, definitions in program.functions.items():
            if any(program.text(part) == "__global__" for node in definitions for part in node.children):
                yield path, program, name


def reason(maker: Maker, program: Program, name: str) -> str:
    """Why an edit does not apply; empty where it does."""
    try:
        maker(program.kernel(name), [])
    except Refused as refused:
        return str(refused)
    return ""


def general(text: str) -> str:
    """A reason without what differs between sources."""
    text = re.sub(r"\b\d[\d,]*\b", "N", text)
    return re.sub(r"\b(?=\w*[A-Z_\d])(?!N\b)\w+\b|'[^']*'", "X", text)


def main(wanted: Annotated[list[str] | None, typer.Argument(metavar="[MAKER]...")] = None) -> None:
    """Print a table of edits, the kernels that each applies to, and the counted reasons against it."""
    makers = {maker.__name__: maker for each in STRUCTURAL.values() for maker in each}
    if unknown := set(wanted or []) - makers.keys():
        raise typer.BadParameter(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(makers)}")
    for folder in FOLDERS:
        found = list(kernels(sorted(ROOT.glob(folder))))
        print(f"## {folder}: {len(found)} kernels\n")
        for name, maker in makers.items():
            if wanted and name not in wanted:
                continue
            reasons = [(path, kernel, reason(maker, program, kernel)) for path, program, kernel in found]
            applies = [f"{path.stem}:{kernel}" for path, kernel, text in reasons if not text]
            print(f"{name}: {len(applies)} of {len(found)}\n  applies: {' '.join(applies)}")
            for text, count in Counter(general(text) for _, _, text in reasons if text).most_common(SHOWN):
                print(f"  {count:5} {text}")
            print()


if __name__ == "__main__":
    typer.run(main)
