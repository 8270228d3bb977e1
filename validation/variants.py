"""The catalogue at other sizes and with other element types: profile its families so, for score.py to judge.

    python -m validation.variants OUT [VARIANT ...]

Every kernel file is rewritten, mechanically, and launched as the original is: compiled, checked against its oracle,
profiled. Writes OUT/VARIANT-FAMILY.ncu-repz; OUT is made. Needs a GPU, ncu, nvcc and PyCUDA.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ncuview.api import load_rules
from ncuview.base.errors import NcuviewError
from ncuview.base.paths import shipped
from ncuview.catalogue.kernel_file import Kernel, load_kernels
from ncuview.catalogue.kernels import Launch, launches_of
from ncuview.catalogue.live import profile_live
from ncuview.engine.plan import belongs_in_recording, metrics_for
from ncuview.reader.scrub import scrub

_SIZE = re.compile(r"(?m)^(?P<name>\w+) = (?P<value>\d+)$")
_EXTENTS = frozenset({"n", "w", "h", "m", "rows", "nx", "ny", "sizeX", "sizeY", "records", "particles"})
"""Sizes that say how much data there is; others say how it is divided, or how often something is done."""
_LARGE = 2048
_OF_FLOAT_ALONE = re.compile(r"<mma\.h>|\bstruct\b|\bfloat[24]\b|transpose_padded_CPU")
"""Tensor cores take the types that they take, as do vectors and records; an oracle writes poison of 32 bits."""


@dataclass(frozen=True)
class Variant:
    """How kernel files are rewritten, and which families can be.

    Attributes:
        families: Those whose kernels mean the same afterwards.
        shrink: What the extents are divided by.
        element: The C type that takes the place of float, and NumPy's name and size in bytes of it.
    """

    families: tuple[str, ...]
    shrink: int = 1
    element: tuple[str, str, int] | None = None

    def rewrite(self, source: str) -> str:
        """A kernel file of this variant."""
        head, _, rest = source.partition("[sizes]")
        sizes, _, rest = rest.partition("\n[")
        source = f"{head}[sizes]{_SIZE.sub(self._smaller, sizes)}\n[{rest}"
        if not self.element:
            return source
        c_type, numpy_type, size = self.element
        source = re.sub(r"\bfloat32\[", f"{numpy_type}[", source)
        source = re.sub(r'(?m)^(bytes = ".*)\b4\b', rf"\g<1>{size}", source)
        matter, end, code = source.partition("---*/")
        include = "\n#include <cuda_fp16.h>" if c_type == "__half" else ""
        return matter + end + include + re.sub(r"\bfloat\b", c_type, code)

    def _smaller(self, size: re.Match[str]) -> str:
        value = int(size["value"])
        large = size["name"] in _EXTENTS and value >= _LARGE
        return f"{size['name']} = {value // self.shrink if large else value}"


_ALL = tuple(sorted({path.parent.name for path in shipped("kernels").glob("*/*.cu")} - {"calibration", "transfers"}))

VARIANTS: Mapping[str, Variant] = {
    "halved": Variant(_ALL, shrink=2),
    "double": Variant(
        ("access_patterns", "bank_patterns", "transpose", "matmul"), shrink=2, element=("double", "float64", 8)
    ),
    "int": Variant(("transpose",), element=("int", "int32", 4)),
    "fp16": Variant(("transpose",), element=("__half", "float16", 2)),
}


def kernels_of(variant: str, family: str, folder: Path) -> Iterator[Kernel]:
    """The kernels of a family, rewritten into this folder, by step."""
    target = folder / family
    target.mkdir(parents=True)
    for path in sorted((shipped("kernels") / family).glob("*.cu")):
        source = path.read_text(encoding="utf-8")
        if not (VARIANTS[variant].element and _OF_FLOAT_ALONE.search(source)):
            (target / path.name).write_text(VARIANTS[variant].rewrite(source), encoding="utf-8")
    kernels = (kernel for path in sorted(target.glob("*.cu")) for kernel in load_kernels(path))
    yield from sorted(kernels, key=lambda kernel: kernel.text.step_number)


def variant_launches(variant: str, family: str, folder: Path) -> list[Launch]:
    """The launches of a family so rewritten, as measured."""
    return launches_of(list(kernels_of(variant, family, folder)))


def main(out: Path, variants: Annotated[list[str] | None, typer.Argument(metavar="|".join(VARIANTS))] = None) -> None:
    """Profile the families of these variants, or of all."""
    if unknown := set(variants or ()) - VARIANTS.keys():
        raise typer.BadParameter(f"no variant {', '.join(unknown)}")
    out.mkdir(parents=True, exist_ok=True)
    metrics = metrics_for(load_rules())
    for name in variants or VARIANTS:
        for family in VARIANTS[name].families:
            print(f"{name} {family}: {_measured(name, family, metrics, out)}", flush=True)


def _measured(variant: str, family: str, metrics: list[str], out: Path) -> str:
    with tempfile.TemporaryDirectory() as folder:
        try:
            launches = variant_launches(variant, family, Path(folder) / "kernels")
            (Path(folder) / "run").mkdir()
            report = profile_live(launches, metrics, Path(folder) / "run")
        except NcuviewError as error:
            return f"failed: {error}"
        scrub(
            report,
            out / f"{variant}-{family}.ncu-repz",
            keep=partial(belongs_in_recording, planned=frozenset(metrics)),
        )
    return f"{len(launches)} launches"


if __name__ == "__main__":
    typer.run(main)
