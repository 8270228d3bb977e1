"""Check the decoder's definitions and uses against nvdisasm, instruction by instruction.

    python -m validation.sass.operands CACHE [--nvdisasm FILE] [--facts FILE]

It compiles the catalogue's kernels, the programs of the accuracy set and ``forms.cu`` for each architecture, one after
the other, and compares what ``ncuview.sass.decode`` says of each instruction with what ``nvdisasm --life-range-mode``
marks. Cubins and listings stay in CACHE, so that a second run starts where the first one ended. Needs nvcc 13 and
nvdisasm 13, on PATH or from ``pip install nvidia-cuda-nvdisasm``; no GPU. Exit code 1 on any difference or where more
than one instruction in a thousand has an opcode that the table does not cover.

nvdisasm marks each definition, also one that is never used, and each use, a guard's too, of general and uniform
registers and predicates. So sets are compared, as equal, with these exceptions, each of which names the reason:

- ``CALL``: it marks what the called function defines and uses; the decoder's sets have to be contained.
- ``P2R`` and ``R2P``: it marks no predicate of the operand PR.
- Global accesses up to sm_8x: it marks the pair of uniform registers that describes memory, which the text names only
  from sm_90 on.
- Texture accesses without a mask of components from sm_100 on: it leaves out the fourth component, although code stores
  that register right afterwards.
- ``TLD`` on sm_120: it marks one uniform register of the texture's handle; the same text on sm_100 stands for a pair.
- ``LDGSTS``: it marks the predicate at the end, which says whether zeros are stored, as used and defined.
- UR63 and above, of sm_100 and later: its tables have no such column, since UR63 was URZ before.

``--facts FILE`` writes one line per form of instruction: text, definitions, uses, separated by tabs; the default test
suite checks the decoder against them.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from ncuview.profiling.machine import find_nvcc
from ncuview.sass import isa
from ncuview.sass.decode import decode
from validation.labelled import sources
from validation.sass.life_ranges import Marked, listing_of, marked_functions

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
ARCHITECTURES = ("sm_80", "sm_90", "sm_100")
FORM_ARCHITECTURES = ("sm_75", "sm_80", "sm_90a", "sm_100a", "sm_120")
_FLAGS = ("-cubin", "-O3", "-std=c++17", "-lineinfo")
_MOST_UNKNOWN = 0.001
_FIRST_WITHOUT_COLUMN = 63
_REGISTER = re.compile(r"\b(U?[RP])\d+")
_FIGURE = re.compile(r"-?\b0x[0-9a-f]+|(?<![\w.])[-+]?\d[\d.]*(?:e[-+]\d+)?\b")
_GUARD = re.compile(r"^@!?U?P\w+ +")
_LABEL = re.compile(r"`\([^)]*\)")


def main() -> int:
    """Compile, disassemble, compare, print."""
    parser = argparse.ArgumentParser(description="Check the decoder against nvdisasm.")
    parser.add_argument("cache", type=Path, help="folder outside the repository for cubins and listings")
    parser.add_argument("--nvdisasm", type=Path, default=None)
    parser.add_argument("--facts", type=Path, default=None, help="where to write one line per form of instruction")
    given = parser.parse_args()
    nvcc, nvdisasm = find_nvcc(), given.nvdisasm or find_nvdisasm()
    if nvcc is None or nvdisasm is None:
        raise SystemExit(f"{'nvcc' if nvcc is None else 'nvdisasm'} is missing")
    comparison = Comparison()
    for architecture, source in _sources():
        cubin = compiled(nvcc, source, architecture, given.cache)
        functions = list(marked_functions(cached_listing(nvdisasm, cubin))) if cubin else []
        if not functions:
            comparison.without_code.append(f"{architecture} {source.name}")
        for marked in (marked for function in functions for marked in function):
            comparison.add(architecture, marked)
    comparison.print()
    if given.facts:
        given.facts.write_text("".join(f"{line}\n" for line in sorted(comparison.forms.values())), encoding="utf-8")
    return 0 if comparison.passed else 1


def find_nvdisasm() -> Path | None:
    """The nvdisasm on PATH, else that of the package nvidia-cuda-nvdisasm."""
    on_path = shutil.which("nvdisasm")
    if on_path:
        return Path(on_path)
    package = find_spec("nvidia")
    folders = package.submodule_search_locations if package else None
    return next((found for folder in folders or () for found in Path(folder).glob("cu*/bin/nvdisasm")), None)


def _sources() -> Iterator[tuple[str, Path]]:
    for architecture in FORM_ARCHITECTURES:
        yield architecture, HERE / "forms.cu"
    for architecture in ARCHITECTURES:
        for source in (*sorted((ROOT / "kernels").glob("*/*.cu")), *sources().values()):
            yield architecture, source


def compiled(nvcc: Path, source: Path, architecture: str, cache: Path) -> Path | None:
    """The cubin of a source, from the cache where it is there; None where it does not compile, which is printed."""
    header = HERE.parent / "harness.h"
    digest = hashlib.sha256(source.read_bytes() + header.read_bytes()).hexdigest()[:12]
    cubin = cache / architecture / f"{source.parent.name}--{source.stem}-{digest}.cubin"
    if not cubin.exists():
        cubin.parent.mkdir(parents=True, exist_ok=True)
        unfinished = cubin.with_suffix(".unfinished")
        command = [str(nvcc), *_FLAGS, f"-arch={architecture}", "-o", str(unfinished), source.name]
        ended = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, check=False)
        if ended.returncode:
            print(f"{architecture} {source.name}: does not compile: {ended.stderr[-500:]}")
            return None
        unfinished.rename(cubin)
    return cubin


def cached_listing(nvdisasm: Path, cubin: Path) -> str:
    """What nvdisasm prints of a cubin, from the cache where it is there."""
    kept = cubin.with_suffix(".lives.gz")
    if not kept.exists():
        unfinished = kept.with_suffix(".unfinished")
        unfinished.write_bytes(gzip.compress(listing_of(nvdisasm, cubin).encode(), compresslevel=3))
        unfinished.rename(kept)
    return gzip.decompress(kept.read_bytes()).decode()


@dataclass
class Comparison:
    """What was compared, and what differs.

    Attributes:
        instructions: Architecture -> how many were compared.
        unknown: Opcode that the table does not cover -> how often it occurs.
        differences: Opcode -> how often the decoder and nvdisasm differ.
        examples: Opcode -> the first of these.
        without_code: Sources that do not compile, or in whose cubin no instruction was found.
        forms: Form of an instruction -> text, definitions and uses of its first one.
    """

    instructions: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    differences: Counter[str] = field(default_factory=Counter)
    examples: dict[str, str] = field(default_factory=dict)
    without_code: list[str] = field(default_factory=list)
    forms: dict[str, str] = field(default_factory=dict)

    def add(self, architecture: str, marked: Marked) -> None:
        """Compare one instruction."""
        self.instructions[architecture] += 1
        decoded = decode(marked.text)
        if not isa.is_known(decoded.opcode):
            self.unknown[decoded.opcode or marked.text] += 1
            return
        guard = {decoded.guard.predicate} if decoded.guard else set()
        ours = _comparable(decoded.definitions), _comparable(decoded.uses | guard)
        if decoded.base_opcode == "CALL":
            theirs = ours[0] & marked.definitions, ours[1] & marked.uses
        else:
            theirs = _without_exceptions(architecture, decoded.opcode, marked, ours)
        if decoded.base_opcode in _NO_PREDICATE_OPERAND:
            ours = _without_file(ours[0], "P"), _without_file(ours[1], "P") | guard
        if ours != theirs:
            self.differences[decoded.opcode] += 1
            difference = "; ".join(
                f"{name} {' '.join(sorted(registers))}"
                for name, registers in (
                    ("not defined by the decoder:", theirs[0] - ours[0]),
                    ("defined by the decoder alone:", ours[0] - theirs[0]),
                    ("not used by the decoder:", theirs[1] - ours[1]),
                    ("used by the decoder alone:", ours[1] - theirs[1]),
                )
                if registers
            )
            self.examples.setdefault(decoded.opcode, f"{architecture} {marked.text}: {difference}")
        elif decoded.base_opcode not in _NOT_EXACT and ours == (decoded.definitions, decoded.uses | guard):
            text = marked.text.partition("(*")[0].strip()
            fact = "\t".join([text, " ".join(sorted(theirs[0])), " ".join(sorted(theirs[1]))])
            self.forms.setdefault(form_of(text), fact)

    @property
    def passed(self) -> bool:
        """Whether all sources were compared, nothing differs, and few opcodes are unknown."""
        return (
            not self.without_code
            and not self.differences
            and self.unknown.total() <= _MOST_UNKNOWN * self.instructions.total()
        )

    def print(self) -> None:
        """Counts per architecture, differences by opcode, unknown opcodes."""
        for architecture, count in self.instructions.items():
            print(f"{architecture}: {count} instructions compared")
        for source in self.without_code:
            print(f"{source}: nothing compared")
        print(f"{self.differences.total()} differences, {len(self.forms)} forms of instructions")
        for opcode, count in self.differences.most_common():
            print(f"  {count} {opcode}: {self.examples[opcode]}")
        total = max(1, self.instructions.total())
        print(f"{self.unknown.total()} instructions ({self.unknown.total() / total:.3%}) with unknown opcodes")
        for opcode, count in self.unknown.most_common():
            print(f"  {count} {opcode}")


_NO_PREDICATE_OPERAND = frozenset({"P2R", "R2P"})
_NOT_EXACT = frozenset({"CALL", "P2R", "R2P"})
_TEXTURES = frozenset({"TEX", "TLD", "TLD4", "TXD"})


def form_of(text: str) -> str:
    """An instruction without the numbers of its registers, its figures and its labels."""
    text = _LABEL.sub("LABEL", text.replace(".reuse", ""))
    opcode, _, operands = _GUARD.sub("", text).partition(" ")
    return opcode + " " + _FIGURE.sub("#", _REGISTER.sub(r"\1", operands))


def _comparable(registers: frozenset[str] | set[str]) -> frozenset[str]:
    return frozenset(
        each for each in registers if not (each.startswith("UR") and int(each[2:]) >= _FIRST_WITHOUT_COLUMN)
    )


def _without_file(registers: frozenset[str], file: str) -> frozenset[str]:
    return frozenset(each for each in registers if each.rstrip("0123456789") != file)


def _without_exceptions(
    architecture: str, opcode: str, marked: Marked, ours: tuple[frozenset[str], frozenset[str]]
) -> tuple[frozenset[str], frozenset[str]]:
    """Definitions and uses that nvdisasm marks, without the exceptions that this file's docstring lists."""
    definitions, uses = marked.definitions, marked.uses
    base, generation = opcode.partition(".")[0], int(re.sub(r"\D", "", architecture))
    if generation < 90 and ".64" in marked.text and "desc[" not in marked.text:
        descriptor = {each for each in uses - ours[1] if each.startswith("UR")}
        uses = uses - descriptor if len(descriptor) == 2 else uses
    if base in _TEXTURES and generation >= 100 and ", 0x" not in marked.text:
        fourth = int(decode(marked.text).operands[0].removeprefix("R")) + 1
        definitions |= {f"R{fourth}"}
    if base == "TLD" and generation >= 120:
        uses |= {each for each in ours[1] if each.startswith("UR")}
    if base == "LDGSTS":
        definitions = frozenset(each for each in definitions if each not in uses)
    return definitions, uses


if __name__ == "__main__":
    sys.exit(main())
