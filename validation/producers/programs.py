"""Write CUDA kernels in which the instruction that each stalled instruction waits for is known by construction.

    python -m validation.producers.programs FOLDER

compiles both halves with nvcc for sm_90 into FOLDER, and writes ``development.tsv`` and ``held-out.tsv`` beside this
file: the machine code with source lines and control codes, and the labels. Needs nvcc 13, cuobjdump and nvdisasm; no
GPU.

A label names a use by a constant that occurs nowhere else in the code: ``acc = acc * 33 + (v3 ^ 0x5ab03)`` gives one
instruction with this constant, which waits for ``v3``. The value comes from one source line, or from two where paths
meet or a loop carries it; the compiler's line table says which instruction of the asked kind is of that line. No
analysis of ncuview takes part in a label.
"""

from __future__ import annotations

import argparse
import random
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ncuview.catalogue.machine_code import code_of_cubin
from ncuview.profiling.machine import find_nvcc
from ncuview.reader.line_table import machine_code

HERE = Path(__file__).parent
HALVES = ("development", "held-out")
_KERNELS = 60
_VALUES = range(5, 8)
_CONTROL_AT, _CONTROL, _BYTES = 105, (1 << 21) - 1, 16
_TEXTURE = (
    'asm volatile("{{{{ .reg .b32 d; tex.1d.v4.u32.{} {{{{%0, d, d, d}}}}, [%1, {{{{%2}}}}]; }}}}"'
    ' : "=r"({{v}}) : "l"(texture), {});'
)

LONG = {
    "LDG": 'asm volatile("ld.global.u32 %0, [%1];" : "=r"({v}) : "l"(a + t + {n}));',
    "LDL": 'asm volatile("ld.local.u32 %0, [%1];" : "=r"({v}) : "r"(spill + ((t + {n}) & 7) * 4));',
    "ATOMG": "{v} = atomicAdd(b + t + {n}, t);",
    "TLD": _TEXTURE.format("s32", '"r"(t + {n})'),
    "TEX": _TEXTURE.format("f32", '"f"(x + {n}.5f)'),
    "SULD": 'asm volatile("suld.b.1d.b32.trap %0, [%1, {{%2}}];" : "=r"({v}) : "l"(surface), "r"(t * 4 + {n} * 4));',
}
"""Base opcode -> the statement that makes it, for kinds that a long scoreboard waits for."""
SHORT = {
    "LDS": 'asm volatile("ld.shared.u32 %0, [%1];" : "=r"({v}) : "r"(at + ((t * {n}) & 255) * 4));',
    "ATOMS": "{v} = atomicAdd(shared + ((t + {n}) & 255), t);",
    "LDC": "{v} = table[(t ^ {n}) & 63];",
    "MUFU": 'asm volatile("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(f) : "f"(x + {n}.25f)); {v} = __float_as_uint(f);',
    "F2I": 'asm volatile("cvt.rzi.s32.f32 %0, %1;" : "=r"({v}) : "f"(x + {n}.5f));',
    "I2F": 'asm volatile("cvt.rn.f32.s64 %0, %1;" : "=f"(f) : "l"(wide + {n})); {v} = __float_as_uint(f);',
    "FRND": 'asm volatile("cvt.rzi.f32.f32 %0, %1;" : "=f"(f) : "f"(x + {n}.75f)); {v} = __float_as_uint(f);',
    "SHFL": 'asm volatile("shfl.sync.bfly.b32 %0, %1, {lane}, 31, -1;" : "=r"({v}) : "r"(t + {n}));',
    "S2R": 'asm volatile("mov.u32 %0, %%{special};" : "=r"({v}));',
    "POPC": 'asm volatile("popc.b32 %0, %1;" : "=r"({v}) : "r"(t * {n}));',
    "FLO": 'asm volatile("bfind.u32 %0, %1;" : "=r"({v}) : "r"(t * {n}));',
    "BREV": 'asm volatile("brev.b32 %0, %1;" : "=r"({v}) : "r"(t * {n}));',
    "MATCH": "{v} = __match_any_sync(-1, t * {n});",
}
"""The same for a short scoreboard."""
_HEAD = """
__constant__ unsigned table[64];
"""
_OPEN = """extern "C" __global__ void {name}(const unsigned *a, unsigned *b, unsigned *out, int n, int p,
 cudaTextureObject_t texture, cudaSurfaceObject_t surface) {{
__shared__ unsigned shared[256];
unsigned local[8];
unsigned t = blockIdx.x * 256 + threadIdx.x, acc = n;
float x = n + 0.5f, f;
long long wide = (long long)n << 33 | t;
for (int i = 0; i < 8; ++i) ((volatile unsigned *)local)[i] = n + i;
unsigned spill = (unsigned)__cvta_generic_to_local(local);
unsigned at = (unsigned)__cvta_generic_to_shared(shared);
shared[threadIdx.x] = n;
__syncthreads();
"""
_CLOSE = """out[t] = acc;
}
"""


@dataclass(frozen=True)
class Label:
    """One use of a value, and the lines that it comes from."""

    kernel: str
    constant: int
    kind: str
    reason: str
    shape: str
    lines: tuple[int, ...]


@dataclass
class Source:
    """The text of a half, and its labels; each statement has a line of its own."""

    seed: int
    text: list[str] = field(default_factory=_HEAD.splitlines)
    labels: list[Label] = field(default_factory=list)
    kernel: str = ""

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self._next, self._start = 0x5A000, 0

    def line(self, text: str) -> int:
        """Add a line, and return its number from 1."""
        self.text.append(text)
        return len(self.text)

    def open(self, name: str) -> None:
        """Begin a kernel."""
        self.kernel = name
        self._start = len(self.text)
        for each in _OPEN.format(name=name).splitlines():
            self.line(each)

    def close(self) -> None:
        """End it; lines about memory that it does not use become empty."""
        body = range(self._start + len(_OPEN.splitlines()), len(self.text))
        for used, names in (("spill", ("spill", "local")), ("(at +|(shared +", ("shared", "__syncthreads"))):
            if not any(word in self.text[at] for at in body for word in used.split("|")):
                for at in range(self._start, body.start):
                    if any(name in self.text[at] for name in names):
                        self.text[at] = ""
        for each in _CLOSE.splitlines():
            self.line(each)

    def produce(self, kind: str, value: str) -> int:
        """Give a variable a value by an instruction of a kind."""
        numbers = {
            "n": self.random.randrange(3, 4000, 2),
            "lane": self.random.randrange(1, 31),
            "special": self.random.choice(("laneid", "lanemask_lt", "lanemask_ge", "smid", "warpid")),
        }
        return self.line((LONG | SHORT)[kind].format(v=value, **numbers))

    def use(self, value: str, kind: str, shape: str, *lines: int) -> None:
        """Use a variable together with a constant of its own."""
        self._next += self.random.randrange(3, 9)
        self.line(f"acc = acc * 33 + ({value} ^ {self._next:#x});")
        reason = "long_scoreboard" if kind in LONG else "short_scoreboard"
        self.labels.append(Label(self.kernel, self._next, kind, reason, shape, tuple(sorted(lines))))

    def kinds(self, number: int) -> list[str]:
        """Kinds for this kernel: most of those that one reason waits for, few of the other."""
        most, few = self.random.sample([[*LONG], [*SHORT]], 2)
        return [self.random.choice(most if place % 4 < 3 else few) for place in range(number)]

    def values(self) -> list[tuple[str, str]]:
        """Declare variables, and choose the kind of each."""
        kinds = self.kinds(self.random.choice(_VALUES))
        found = [(f"v{place}", kind) for place, kind in enumerate(kinds)]
        self.line("unsigned " + ", ".join(name for name, _ in found) + ";")
        return found

    def shuffled(self, values: list[tuple[str, str]]) -> list[tuple[str, str]]:
        """The values in another order."""
        return self.random.sample(values, len(values))


def straight(source: Source) -> None:
    """All values, then all uses in another order."""
    values = source.values()
    lines = {name: source.produce(kind, name) for name, kind in values}
    for name, kind in source.shuffled(values):
        source.use(name, kind, "one block", lines[name])


def branches(source: Source) -> None:
    """Values before branches, uses in them and after them."""
    values = source.values()
    lines = {name: source.produce(kind, name) for name, kind in values}
    uses = source.shuffled(values)
    for place, (name, kind) in enumerate(uses):
        if place % 2 == 0:
            source.line(f"if (p & {1 << place}) {{")
            source.use(name, kind, "across blocks", lines[name])
            source.line(f"out[t + acc % {place + 77}] = acc;")
            source.line("}")
    for place, (name, kind) in enumerate(uses):
        if place % 2:
            source.use(name, kind, "across blocks", lines[name])


def meeting(source: Source) -> None:
    """Each value from one of two branches, used where they have met."""
    values = source.values()
    lines: dict[str, list[int]] = {name: [] for name, _ in values}
    for start in ("if (p & 1) {", "} else {"):
        source.line(start)
        source.line(f"out[t + {len(source.text)}] = acc;")
        for name, kind in source.shuffled(values):
            lines[name].append(source.produce(kind, name))
    source.line("}")
    for name, kind in source.shuffled(values):
        source.use(name, kind, "across blocks", *lines[name])


def carried(source: Source) -> None:
    """Each value from the iteration before, used at the start of the next."""
    values = source.values()
    lines = {name: [source.produce(kind, name)] for name, kind in values}
    source.line("#pragma unroll 1")
    source.line("for (int i = 0; i < n; ++i) {")
    for name, kind in source.shuffled(values):
        source.use(name, kind, "loop-carried", *lines[name])
    source.line("t += acc & 3;")
    for name, kind in source.shuffled(values):
        lines[name].append(source.produce(kind, name))
    source.line("}")
    source.labels[-len(values) :] = [
        Label(each.kernel, each.constant, each.kind, each.reason, each.shape, tuple(lines[name]))
        for each, name in zip(source.labels[-len(values) :], _used_names(source, len(values)), strict=True)
    ]


def _used_names(source: Source, number: int) -> list[str]:
    """The variables of the last uses, in order."""
    uses = [text for text in source.text if text.startswith("acc = acc * 33 + (v")][-number:]
    return [text.split("(")[1].split(" ")[0] for text in uses]


def in_loop(source: Source) -> None:
    """Values and uses in one iteration, the uses after a branch."""
    values = source.values()
    source.line("#pragma unroll 1")
    source.line("for (int i = 0; i < n; ++i) {")
    lines = {name: source.produce(kind, name) for name, kind in values}
    uses = source.shuffled(values)
    for name, kind in uses[:2]:
        source.use(name, kind, "one block", lines[name])
    source.line("if (acc & 1) out[acc] = i, t += 3;")
    for name, kind in uses[2:]:
        source.use(name, kind, "across blocks", lines[name])
    source.line("}")


def nested(source: Source) -> None:
    """Values of an outer loop, used in an inner one that has values of its own."""
    values = source.values()
    outer, inner = values[:3], values[3:]
    source.line("#pragma unroll 1")
    source.line("for (int i = 0; i < n; ++i) {")
    lines = {name: source.produce(kind, name) for name, kind in outer}
    source.line("int left = p;")
    source.line("do {")
    lines |= {name: source.produce(kind, name) for name, kind in inner}
    for name, kind in source.shuffled(inner):
        source.use(name, kind, "one block", lines[name])
    for name, kind in outer[:1]:
        source.use(name, kind, "across blocks", lines[name])
    source.line("t += acc & 7;")
    source.line("} while (--left > 0);")
    for name, kind in source.shuffled(outer[1:]):
        source.use(name, kind, "across blocks", lines[name])
    source.line("}")


def switched(source: Source) -> None:
    """Values before a choice of three, one more in each branch."""
    values = source.values()
    early, late = values[:-3], values[-3:]
    lines = {name: source.produce(kind, name) for name, kind in early}
    for place, (name, kind) in enumerate(late):
        source.line(f"{'' if place == 0 else 'else '}if (p == {place + 5}) {{")
        lines[name] = source.produce(kind, name)
        source.line(f"out[t + {place * 311}] = t;")
        other, of_other = early[place % len(early)] if place < len(early) else late[place]
        source.use(name, kind, "one block", lines[name])
        if place == 0:
            source.use(other, of_other, "across blocks", lines[other])
        source.line(f"out[t * 3 + {place * 97}] = acc;")
        source.line("}")
    for name, kind in source.shuffled(early[1:]):
        source.use(name, kind, "across blocks", lines[name])


def ring(source: Source) -> None:
    """Two stages: one half of the values is asked for while the other is used."""
    values = source.values()
    first, second = values[: len(values) // 2], values[len(values) // 2 :]
    before = {name: source.produce(kind, name) for name, kind in first}
    source.line("#pragma unroll 1")
    source.line("while (n-- > 0) {")
    lines = {name: source.produce(kind, name) for name, kind in second}
    held = len(source.labels)
    for name, kind in source.shuffled(first):
        source.use(name, kind, "loop-carried", before[name])
    source.line("if (acc == 77) break;")
    source.line("t ^= acc & 15;")
    used = _used_names(source, len(first))
    again = {name: source.produce(kind, name) for name, kind in source.shuffled(first)}
    for place, name in enumerate(used, held):
        each = source.labels[place]
        pair = (before[name], again[name])
        source.labels[place] = Label(each.kernel, each.constant, each.kind, each.reason, each.shape, pair)
    for name, kind in source.shuffled(second):
        source.use(name, kind, "across blocks", lines[name])
    source.line("}")


SHAPES: dict[str, tuple[Callable[[Source], None], ...]] = {
    "development": (straight, branches, meeting, carried, in_loop),
    "held-out": (nested, switched, ring),
}
"""The kernels of each half; no shape is in both."""


def write(half: str) -> Source:
    """The source of one half."""
    source = Source(seed=29 + HALVES.index(half))
    for number in range(_KERNELS):
        source.open(f"k{number:02d}")
        SHAPES[half][number % len(SHAPES[half])](source)
        source.close()
    return source


def compiled(source: Source, half: str, folder: Path) -> Iterator[str]:
    """The lines of a half's table: labels, then each kernel's instructions."""
    file, cubin = folder / f"{half}.cu", folder / f"{half}.cubin"
    file.write_text("\n".join(source.text) + "\n", encoding="utf-8")
    options = ["-cubin", "-arch=sm_90", "-lineinfo", "-o", str(cubin), str(file)]
    subprocess.run([str(find_nvcc()), *options], check=True)
    for each in source.labels:
        lines = ",".join(map(str, each.lines))
        yield "\t".join(("label", each.kernel, hex(each.constant), each.kind, each.reason, each.shape, lines))
    for kernel in code_of_cubin(cubin):
        encoded = machine_code(cubin.read_bytes(), {kernel.symbol})[kernel.symbol]
        yield f"kernel\t{kernel.symbol}"
        for text, address, (_, line) in zip(kernel.code.texts, kernel.code.addresses, kernel.places, strict=True):
            bits = int.from_bytes(encoded[address : address + _BYTES], "little")
            yield f"{line}\t{bits >> _CONTROL_AT & _CONTROL:x}\t{text}"


def main() -> None:
    """Write both tables."""
    parser = argparse.ArgumentParser(description="Compile the programs, and write their code and labels.")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    folder = parser.parse_args().folder
    for half in HALVES:
        rows = "\n".join(compiled(write(half), half, folder))
        (HERE / f"{half}.tsv").write_text(f"{rows}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
