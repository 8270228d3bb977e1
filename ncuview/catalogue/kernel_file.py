"""Read and validate the front matter of a .cu kernel file, TOML in its first comment -> ``Kernel``, ``KernelText``.

``load_kernels`` gives a catalogue file's ``Kernel``s, ``read_front_matter`` a user's ``KernelText``.
The comment ``/*--- ncuview ... ---*/`` holds what the kernel teaches and its document, its sizes, launch and arguments,
the oracle that computes the right answer, and the expected diagnosis. In a user's own file, name, launch, arguments and
sizes are enough.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ncuview.base.errors import KernelFileError
from ncuview.base.files import LARGEST_TOML, beginning_of, parse_toml
from ncuview.base.suggestion import did_you_mean_file

_FRONT_MATTER = re.compile(r"\A/\*--- ncuview\n(?P<toml>.*?)^---\*/$", re.DOTALL | re.MULTILINE)
_ARRAY = re.compile(
    r"(?P<role>in|constant|texture|out|zeroed) (?P<dtype>\w+)\[(?P<shape>[^\]]+)\](?: below (?P<below>.+))?"
)
_SCALAR = re.compile(r"(?P<dtype>\w+) = (?P<value>.+)")
DTYPES = frozenset(
    {"float16", "float32", "float64"} | {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
)

Size = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class LaunchTexts(_Part):
    """Grid, block, shared memory and template arguments of a launch, as arithmetic over the sizes.

    ``shared`` is in bytes, of dynamic shared memory; ``template`` holds the kernel's integer template arguments.
    """

    grid: Annotated[list[str], Field(min_length=1, max_length=3)]
    block: Annotated[list[str], Field(min_length=1, max_length=3)]
    shared: str | None = None
    template: list[str] = []


@dataclass(frozen=True)
class ArgumentKind:
    """The parts of an argument's kind, as arithmetic over the sizes.

    Attributes:
        role: ``in``, ``constant``, ``texture``, ``out``, ``zeroed`` or ``scalar``.
        dtype: Its NumPy type.
        shape: The array's extents; empty for a scalar.
        below: The bound of an array's numbers; empty where it holds any.
        value: The scalar's value; empty for an array.
    """

    role: str
    dtype: str
    shape: tuple[str, ...] = ()
    below: str = ""
    value: str = ""


class Argument(_Part):
    """The content of a parameter or ``__constant__`` symbol of this name.

    ``in float32[n, n]``, ``in int32[n] below 256``, ``constant float32[n]``, ``texture float32[n, n]``,
    ``out float32[n]``, ``zeroed uint32[n]`` or ``int32 = n``.
    """

    name: str
    kind: str

    @property
    def parsed(self) -> ArgumentKind | None:
        """The parts of its kind; None where it is no kind of argument."""
        if (array := _ARRAY.fullmatch(self.kind)) and array["dtype"] in DTYPES:
            shape = tuple(text.strip() for text in array["shape"].split(","))
            return ArgumentKind(array["role"], array["dtype"], shape, array["below"] or "")
        if (scalar := _SCALAR.fullmatch(self.kind)) and scalar["dtype"] in DTYPES:
            return ArgumentKind("scalar", scalar["dtype"], value=scalar["value"])
        return None


class Useful(_Part):
    """The work that the problem needs in any kernel: bytes moved or floating-point operations."""

    bytes: str | None = None
    flops: str | None = None


class Expect(_Part):
    """The expected diagnosis: the first advice or a verdict, and optimizations that must not be advised."""

    first: str | None = None
    verdict: Literal["near-peak", "unclear"] | None = None
    quiet: list[str] = []


class Step(_Part):
    """The textbook's step to this kernel: which kernel it improves, and what it changes.

    ``not_first`` gives the reason why the step is not the first advice for that kernel on today's GPUs, without the
    measured gain: a figure written by hand would contradict the next profile, and outputs show the measured one.
    """

    after: str
    applies: str
    not_first: str | None = None


class Reported(_Part):
    """The document's own figure for this kernel, and the GPU that it was measured on."""

    rate: float
    unit: Literal["GB/s", "GFLOP/s", "ms"]
    gpu: str


class Transfers(_Part):
    """How the host moves the arguments: pageable or pinned memory, the number of pieces, the number of streams."""

    memory: Literal["pageable", "pinned"]
    pieces: str = "1"
    streams: str = "1"


class Variant(_Part):
    """The same kernel at other sizes, as a step of its own in the ladder."""

    step_number: int
    sizes: dict[str, Size]
    teaches: str | None = None
    better: str | None = None
    step: Step | None = None
    reported: Reported | None = None
    predicts: dict[str, float] = {}
    expect: Expect


class KernelText(_Part):
    """The TOML at the head of a user's kernel file: the launch is required, all other keys are optional."""

    schema_version: Annotated[Literal[1], Field(alias="schema")] = 1
    name: str
    family: str = ""
    step_number: int = 0
    document: str = ""
    section: str = ""
    teaches: str = ""
    better: str | None = None
    oracle: str | None = None
    tolerance: Annotated[float, Field(ge=0, lt=1)] = 0.0
    sizes: dict[str, Size] = {}
    launch: LaunchTexts
    args: list[Argument] = []
    useful: Useful = Useful()
    transfers: Transfers | None = None
    predicts: dict[str, float] = {}
    step: Step | None = None
    reported: Reported | None = None
    expect: Expect = Expect()
    variant: list[Variant] = []


class FrontMatter(KernelText):
    """The TOML at the head of a catalogue kernel's file, where further keys are required."""

    schema_version: Annotated[Literal[1], Field(alias="schema")]
    family: str
    step_number: int
    document: str
    section: str
    teaches: str
    oracle: str
    sizes: dict[str, Size]
    args: list[Argument]
    useful: Useful
    expect: Expect


@dataclass(frozen=True)
class Kernel:
    """A kernel of the catalogue, at its own sizes or as one of its variants, or a kernel of the user's.

    Attributes:
        path: Its source file; of the catalogue, ``<family>/<function>.cu`` below the folder of kernels.
        text: Its front matter; of a variant, with what the variant changes.
        name: The document's name, which file and function have too; a variant's has its sizes: ``strided[stride=4]``;
            a user's kernel has its C++ name: ``blas::saxpy<float, 4>``.
        root: The folder that source lines are named from.
        nvcc_args: Further options that nvcc needs for this file.
    """

    path: Path
    text: KernelText
    name: str
    root: Path
    nvcc_args: tuple[str, ...] = ()

    @property
    def function(self) -> str:
        """The function's name, which ncu reports: without namespaces and template arguments."""
        return self.text.name.partition("<")[0].rpartition("::")[2].strip()

    @property
    def of_catalogue(self) -> bool:
        """Whether it is of the catalogue, so that it has a family, an oracle and a document."""
        return isinstance(self.text, FrontMatter)


def load_kernels(path: Path) -> list[Kernel]:
    """Read a kernel file of the catalogue: the kernel at its own sizes, then its variants.

    Raises:
        KernelFileError: It is missing or wrong; the message names file and key.
    """
    text = _front_matter(path, FrontMatter)
    if (text.name, text.family) != (path.stem, path.parent.name):
        raise KernelFileError(f"{path}: name and family must be those of the file, {path.parent.name}/{path.stem}")
    kernel = Kernel(path, text, text.name, path.parents[1])
    return [kernel, *(_variant(kernel, variant) for variant in text.variant)]


def has_front_matter(path: Path) -> bool:
    """Whether a source has front matter, which defines its kernel's launch.

    Raises:
        KernelFileError: It cannot be read.
    """
    return bool(_FRONT_MATTER.match(_head(path)))


def read_front_matter(path: Path) -> KernelText:
    """Read the front matter of a user's file.

    Raises:
        KernelFileError: It is missing or wrong; the message names file and key.
    """
    return _front_matter(path, KernelText)


Text = TypeVar("Text", bound=KernelText)


def front_matter_of(source: str, path: Path) -> KernelText | None:
    """The front matter of a source that was read already; None where it has none.

    Raises:
        KernelFileError: It is wrong; the message names file and key.
    """
    head = source.replace("\r\n", "\n")
    return _parsed(head, path, KernelText) if _FRONT_MATTER.match(head) else None


def _front_matter(path: Path, model: type[Text]) -> Text:
    return _parsed(_head(path), path, model)


def _parsed(head: str, path: Path, model: type[Text]) -> Text:
    match = _FRONT_MATTER.match(head)
    if not match:
        raise KernelFileError(f"{path}: no front matter", hint="A kernel file begins with `/*--- ncuview` and TOML.")
    try:
        text: Text = _validated(match["toml"], model)
    except ValidationError as error:  # a ValueError too
        problem = error.errors()[0]
        key = ".".join(str(part) for part in problem["loc"])
        raise KernelFileError(f"{path}: {key}: {problem['msg']}") from error
    except ValueError as error:
        raise KernelFileError(f"{path}: {error}") from error
    return text


@lru_cache(maxsize=512)
def _validated(toml: str, model: type[Text]) -> Text:
    """Front matter as a model, once for each text: a ladder looks through its family for each kernel."""
    return model.model_validate(parse_toml(toml))


def _head(path: Path) -> str:
    """The beginning of a source, in which the front matter must end."""
    try:
        # A source may be in any encoding; the front matter itself is UTF-8.
        return beginning_of(path, LARGEST_TOML).decode("utf-8", errors="replace").replace("\r\n", "\n")
    except OSError as error:
        hint = did_you_mean_file(path, "Check its path.")
        raise KernelFileError(f"{path} cannot be read: {error.strerror}", hint=hint) from error
    except ValueError as error:
        raise KernelFileError(f"{path}: {error}", hint="Check its path.") from error


def _variant(kernel: Kernel, variant: Variant) -> Kernel:
    text = kernel.text
    if unknown := variant.sizes.keys() - text.sizes.keys():
        raise KernelFileError(f"{kernel.path}: variant.sizes: no size {', '.join(sorted(unknown))}")
    changed = {
        name: getattr(variant, name) for name in ("step_number", "better", "step", "reported", "predicts", "expect")
    }
    changed |= {"sizes": {**text.sizes, **variant.sizes}, "teaches": variant.teaches or text.teaches}
    label = ",".join(f"{name}={value}" for name, value in variant.sizes.items())
    return replace(kernel, text=text.model_copy(update=changed), name=f"{text.name}[{label}]")
