"""What the head of a kernel file must hold: TOML in a leading comment, as rule files are TOML.

A kernel file begins with a comment ``/*--- ncuview ... ---*/``: what the kernel teaches, where from, its sizes,
launch and arguments, the oracle that knows the right answer, and what the diagnosis is expected to say.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ncuview.errors import KernelFileError

_FRONT_MATTER = re.compile(r"\A/\*--- ncuview\n(?P<toml>.*?)^---\*/$", re.DOTALL | re.MULTILINE)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class LaunchTexts(_Part):
    """Grid and block as arithmetic over the sizes."""

    grid: Annotated[list[str], Field(min_length=1, max_length=3)]
    block: Annotated[list[str], Field(min_length=1, max_length=3)]


class Argument(_Part):
    """``in float32[n, n]``, ``out float32[n, n]`` or ``int32 = n``."""

    name: str
    kind: str


class Useful(_Part):
    """The work that the problem needs, whatever the kernel does: bytes moved or floating-point operations."""

    bytes: str | None = None
    flops: str | None = None


class Expect(_Part):
    """What the diagnosis must say: the first advice or a verdict, and optimizations that must not be advised."""

    first: str | None = None
    verdict: Literal["near-peak", "unclear"] | None = None
    quiet: list[str] = []


class FrontMatter(_Part):
    """The TOML at the head of a kernel file."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    name: str
    family: str
    rung: int
    document: str
    section: str
    teaches: str
    better: str | None = None
    oracle: str
    sizes: dict[str, int]
    launch: LaunchTexts
    args: list[Argument]
    useful: Useful
    expect: Expect


@dataclass(frozen=True)
class Kernel:
    """A kernel of the catalogue.

    Attributes:
        path: Its source file, ``<family>/<name>.cu`` below the folder of kernels.
        text: Its front matter.
    """

    path: Path
    text: FrontMatter

    @property
    def name(self) -> str:
        """The name that the documents use, of the file as of the function in it."""
        return self.text.name


def load_kernel(path: Path) -> Kernel:
    """Read a kernel file's front matter.

    Raises:
        KernelFileError: It is missing or wrong; the message names file and key.
    """
    match = _FRONT_MATTER.match(path.read_text(encoding="utf-8"))
    if not match:
        raise KernelFileError(f"{path}: no front matter", hint="A kernel file begins with `/*--- ncuview` and TOML.")
    try:
        text = FrontMatter.model_validate(tomllib.loads(match["toml"]))
    except tomllib.TOMLDecodeError as error:
        raise KernelFileError(f"{path}: {error}") from error
    except ValidationError as error:
        problem = error.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        raise KernelFileError(f"{path}: {key}: {problem['msg']}") from error
    if (text.name, text.family) != (path.stem, path.parent.name):
        raise KernelFileError(f"{path}: name and family must be those of the file, {path.parent.name}/{path.stem}")
    return Kernel(path, text)
