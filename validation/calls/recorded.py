"""The recorded launches of programs as JSON: written for each variant by record.py, packed into one file, and read."""

from __future__ import annotations

import json
import lzma
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from ncuview.records.program import Call, ProgramLaunch
from ncuview.records.schema import plain

PACKED = "calls.json.xz"


class Step(NamedTuple):
    """One variant of a program."""

    program: str
    """Such as ``q003``."""
    variant: str


@dataclass(frozen=True)
class Recorded:
    """The launches of one step, and what recording them took."""

    program: str
    variant: str
    device: str
    passes: int
    """The most passes that ncu took for a launch."""
    ncu_s: float
    read_s: float
    launches: tuple[ProgramLaunch, ...]


_RECORDED = TypeAdapter(Recorded)


def write(recorded: Recorded, folder: Path) -> None:
    """Write a step into a file of its own: bare file names, and percentages of two decimals."""
    short = replace(recorded, launches=tuple(map(_short, recorded.launches)))
    target = _file(folder, Step(recorded.program, recorded.variant))
    unfinished = target.with_suffix(".part")
    unfinished.write_text(json.dumps(plain(short), separators=(",", ":")), encoding="utf-8")
    unfinished.replace(target)


def is_written(folder: Path, step: Step) -> bool:
    """Whether the folder has the step in a file of its own."""
    return _file(folder, step).exists()


def pack(folder: Path) -> int:
    """Pack all files of steps in a folder into one, and return its bytes."""
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.glob("q*.json")))
    packed = lzma.compress(("[" + ",\n".join(texts) + "]\n").encode(), preset=9 | lzma.PRESET_EXTREME)
    (folder / PACKED).write_bytes(packed)
    return len(packed)


def read(folder: Path) -> Mapping[Step, Recorded]:
    """The steps in the packed files of a folder, ``*.json.xz``.

    Raises:
        OSError, lzma.LZMAError, ValueError: A file has other content, or two hold the same step.
    """
    found: dict[Step, Recorded] = {}
    for file in sorted(folder.glob("*.json.xz")):
        for content in json.loads(lzma.decompress(file.read_bytes())):
            recorded = _RECORDED.validate_python(content)
            step = Step(recorded.program, recorded.variant)
            if step in found:
                raise ValueError(f"{file} holds {' '.join(step)}, as another file does")
            found[step] = recorded
    return found


def _file(folder: Path, step: Step) -> Path:
    return folder / f"{step.program}.{step.variant}.json"


def _short(launch: ProgramLaunch) -> ProgramLaunch:
    call = _bare(launch.call) if launch.call else None
    return replace(launch, fma_pct=round(launch.fma_pct, 2), tensor_pct=round(launch.tensor_pct, 2), call=call)


def _bare(call: Call) -> Call:
    """The call without the folders of the machine that it was recorded on."""
    callers = tuple(frame._replace(file=os.path.basename(frame.file)) for frame in call.callers)  # noqa: PTH119
    return replace(call, file=os.path.basename(call.file), callers=callers)  # noqa: PTH119
