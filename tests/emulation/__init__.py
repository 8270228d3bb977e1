"""Launch CUDA kernels on the CPU, for tests of edits and of their verification.

``emulated(source, kernel, arguments, grid, block)`` compiles the source with g++ and launches the kernel once; the
result has the arrays after the launch, and the faults that compute-sanitizer would find. ``emulated_launch`` does so
for a ``Launch`` of a kernel file, whose source may be another than the file's::

    ran = emulated_launch(launch_of(find_kernel("transposeNaive"), {"n": 64}), source=edited)
    ran.outputs[0], ran.faults

What is emulated: blocks one after the other, a block's threads as fibers with ``__syncthreads``, shuffles, votes and
``__syncwarp`` with masks, static and dynamic shared memory, ``__constant__``, templates, atomics, vector types, common
intrinsics (those of the special function unit are off by a few ulp, as on the GPU). Not: textures, half precision,
inline PTX, tensor cores, several kernels in one launch; these are ``NotEmulated``, as is everything g++ refuses.

Faults: accesses outside an array or misaligned (``memory``), accesses to shared memory without a barrier between them
(``race``), barriers and exchanges that not all threads reach (``barrier``), and launches that do not end (``time``).
``order`` says in which order blocks, and threads between two barriers, run: outputs must not depend on it.

Use small sizes: a launch takes 10 ms and 0.1 us for each access; a source is compiled once, in less than a second.
"""

from __future__ import annotations

import atexit
import re
import shutil
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ncuview.base.errors import KernelFileError
from ncuview.catalogue.kernel_file import Kernel
from ncuview.catalogue.kernels import Launch, launch_of
from ncuview.catalogue.launcher.inputs import input_of, seeded
from ncuview.catalogue.reference import POISON

Array = NDArray[Any]
Extent = Sequence[int]

needs_gpp = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")

ORDERS = {"forward": 0, "backward": 1, "shuffled": 2, "shuffled again": 3}
"""The orders in which blocks and threads run."""
_HERE = Path(__file__).parent
_FLAGS = (
    "-std=c++17",
    "-O1",
    "-fno-strict-aliasing",
    "-ffp-contract=off",
    "-fno-tree-sra",
    "-fwrapv",
    "-w",
    "-I",
    str(_HERE),
)
_SECONDS = 60


class NotEmulated(Exception):
    """The source uses what is not emulated, or is wrong C++; the text is the compiler's."""


@dataclass(frozen=True)
class Fault:
    """What compute-sanitizer would find: ``kind`` is memory, race, barrier or time."""

    kind: str
    text: str


@dataclass(frozen=True)
class Ran:
    """A launch that was emulated.

    Attributes:
        arrays: The array arguments after the launch, in order.
        faults: What is wrong with the launch, whatever its outputs are; a launch that did not end has no arrays.
        loaded: Bytes that threads loaded from global memory.
        stored: Bytes that threads stored to global memory.
    """

    arrays: tuple[Array, ...]
    faults: tuple[Fault, ...]
    loaded: int
    stored: int


def emulated(
    source: str,
    kernel: str,
    arguments: Sequence[Array | np.generic],
    grid: Extent,
    block: Extent,
    *,
    template: Sequence[int] = (),
    shared: int = 0,
    constants: Mapping[str, Array] | None = None,
    names: Sequence[str] = (),
    order: str = "forward",
) -> Ran:
    """Launch a kernel once.

    Args:
        source: CUDA C++; front matter and comments may be in it.
        kernel: The kernel's name.
        arguments: Arrays, which are copied, and NumPy scalars of the parameters' types, in order.
        grid: Blocks in x, y, z; axes at the end may be left out.
        block: Threads of a block, in the same way.
        template: Integer template arguments.
        shared: Bytes of dynamic shared memory.
        constants: Contents of ``__constant__`` variables.
        names: The arrays' names, for faults.
        order: One of ``ORDERS``.

    Raises:
        NotEmulated: g++ does not compile it.
        ValueError: The arguments do not fit the kernel.
    """
    program = _compiled(source, f"{kernel}<{', '.join(map(str, template))}>" if template else kernel)
    arrays = [each for each in arguments if isinstance(each, np.ndarray)]
    labels = iter(names or [f"array {number}" for number in range(len(arrays))])
    items = [
        _item("a", next(labels), each) if isinstance(each, np.ndarray) else _item("s", "", each) for each in arguments
    ]
    items += [_item("c", name, array) for name, array in (constants or {}).items()]
    head = struct.pack("<9I", ORDERS[order], *_extent(grid), *_extent(block), shared, len(items))
    with tempfile.TemporaryDirectory() as folder:
        job, result = Path(folder) / "job", Path(folder) / "result"
        job.write_bytes(b"".join([head, *items]))
        try:
            done = subprocess.run([program, job, result], capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Ran((), (Fault("time", f"the launch did not end within {_SECONDS} s"),), 0, 0)
        if done.returncode < 0:
            return Ran((), (Fault("memory", f"the launch crashed with signal {-done.returncode}"),), 0, 0)
        if done.returncode and done.stderr.startswith("memory\t"):
            return Ran((), (Fault("memory", done.stderr.partition("\t")[2].strip()),), 0, 0)
        if done.returncode:
            raise ValueError(f"{kernel}: {done.stderr.strip()}")
        bytes_after = result.read_bytes()
    first, *lines = done.stdout.splitlines()
    after: list[Array] = []
    for array in arrays:
        piece, bytes_after = bytes_after[: array.nbytes], bytes_after[array.nbytes :]
        after.append(np.frombuffer(piece, array.dtype).reshape(array.shape).copy())
    _, loaded, stored = first.split("\t")
    faults = tuple(Fault(*line.split("\t", 1)) for line in lines)
    return Ran(tuple(after), faults, int(loaded), int(stored))


@dataclass(frozen=True)
class RanLaunch(Ran):
    """A launch of a kernel file that was emulated.

    Attributes:
        inputs: The inputs, constants among them, in order.
        outputs: The outputs after the launch, in order.
    """

    inputs: tuple[Array, ...]
    outputs: tuple[Array, ...]


def emulated_launch(
    launch: Launch, source: str | None = None, *, inputs: Sequence[Array] | None = None, order: str = "forward"
) -> RanLaunch:
    """Make a launch of a kernel file on its seeded inputs, with poisoned outputs.

    Args:
        launch: The launch, with small sizes (see ``small``).
        source: An edited source; the file's where it is None. Where an edit changes the launch, write the edited file
            and load it, so that the launch has its grid and block.
        inputs: Other inputs than the seeded ones.
        order: One of ``ORDERS``.

    Raises:
        NotEmulated: See ``emulated``.
    """
    if inputs is None:
        described = [each for each in launch.args if each["role"] in {"in", "constant", "texture"}]
        inputs = [seeded(input_of(each, stream)) for stream, each in enumerate(described)]
    left = iter(inputs)
    arguments: list[Array | np.generic] = []
    constants: dict[str, Array] = {}
    outputs: list[int] = []
    names: list[str] = []
    for argument, named in zip(launch.args, launch.kernel.text.args, strict=True):
        match argument["role"]:
            case "scalar":
                arguments.append(np.dtype(argument["dtype"]).type(argument["value"]))
                continue
            case "in":
                arguments.append(next(left))
            case "constant":
                constants[named.name] = next(left)
                continue
            case "out" | "zeroed":
                outputs.append(len(names))
                arguments.append(_filled(argument))
            case role:
                raise NotEmulated(f"an argument of the role {role}")
        names.append(named.name)
    ran = emulated(
        launch.kernel.path.read_text(encoding="utf-8") if source is None else source,
        launch.kernel.function,
        arguments,
        launch.grid,
        launch.block,
        template=launch.template,
        shared=launch.shared,
        constants=constants,
        names=names,
        order=order,
    )
    after = tuple(ran.arrays[number] for number in outputs) if ran.arrays else ()
    return RanLaunch(ran.arrays, ran.faults, ran.loaded, ran.stored, tuple(inputs), after)


def _filled(argument: Mapping[str, Any]) -> Array:
    size = int(np.prod(argument["shape"])) * np.dtype(argument["dtype"]).itemsize
    words = np.full(-(-size // POISON.itemsize), POISON if argument["role"] == "out" else 0, POISON.dtype)
    return np.frombuffer(words.tobytes()[:size], argument["dtype"]).reshape(argument["shape"])


def small(kernel: Kernel, *, threads: int = 1 << 13, elements: int = 1 << 16) -> Launch:
    """The launch of a kernel file at sizes that are emulated in about a second.

    The largest sizes are halved, as long as that makes what is too large smaller, all arithmetic of the file gives
    whole numbers, and no size falls below the longest side of a block unless the grid follows. A size that a macro
    repeats stays.
    """
    source = kernel.path.read_text(encoding="utf-8")

    def excess(each: Launch) -> int:
        arrays = (int(np.prod(argument["shape"])) for argument in each.args if "shape" in argument)
        made = int(np.prod(each.grid)) * int(np.prod(each.block))
        return max(0, made - threads) + max(0, max(arrays, default=0) - elements)

    launch, sizes = launch_of(kernel), dict(kernel.text.sizes)
    left = {name for name, value in sizes.items() if not re.search(rf"#define +\w+ +{value}\b", source)}
    while left and excess(launch):
        name = max(sorted(left), key=lambda each: sizes[each])
        half = sizes | {name: sizes[name] // 2}
        try:
            smaller = launch_of(kernel, half)
        except KernelFileError:
            left.remove(name)
            continue
        short = smaller.grid == launch.grid and half[name] < max(launch.block)
        if short or excess(smaller) >= excess(launch):
            left.remove(name)
        else:
            launch, sizes = smaller, half
    return launch


def _item(kind: str, name: str, value: Array | np.generic) -> bytes:
    content = value.tobytes()
    return struct.pack(f"<cI{len(name)}sQ", kind.encode(), len(name), name.encode(), len(content)) + content


def _extent(extent: Extent) -> tuple[int, int, int]:
    x, y, z = (*extent, 1, 1)[:3]
    return x, y, z


_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DYNAMIC = re.compile(r"\bextern\s+__shared__\s+(?P<type>[\w\s:]+?)\s*(?P<name>\w+)\s*\[\s*\]\s*;")
_SHARED = re.compile(r"(?:\b__shared__\s+volatile|\bvolatile\s+__shared__|\b__shared__)\s+(?P<rest>[^;]+);")
_CONSTANT = re.compile(r"\b__constant__\s+[^;=]*?\b(?P<name>\w+)\s*(?:\[[^;]*)?(?:=[^;]*)?;")
_DECLARATOR = re.compile(r"(?P<name>\w+)\s*(?P<extents>(?:\[[^\]]*\]\s*)*)")
_COOPERATES = re.compile(r"\b__\w+_sync\b|\b__sync(?:threads|warp)\b")


def translated(source: str) -> str:
    """The source as C++ for ``cuda.h``, with the same lines."""
    text = _COMMENT.sub(lambda match: "\n" * match[0].count("\n") or " ", source)
    text = re.sub(r"^[ \t]*#[ \t]*include\b[^\n]*", "", text, flags=re.MULTILINE)
    text = _DYNAMIC.sub(lambda m: f"{m['type']} *{m['name']} = ({m['type']} *)emu::dynamic_shared();", text)
    numbers = iter(range(1 << 20))
    return _SHARED.sub(lambda match: _variables(match, numbers), text)


def _variables(match: re.Match[str], numbers: Any) -> str:
    """The variables of one declaration in shared memory, as references to memory of the block."""
    pieces = re.split(r",(?![^\[(<]*[\])>])", match["rest"])
    first = re.fullmatch(rf"(?P<type>.*?[\s*])?{_DECLARATOR.pattern}", pieces[0].strip(), re.DOTALL)
    if not first or not first["type"]:
        raise NotEmulated(f"a declaration in shared memory: {match[0]}")
    volatile = "volatile " if "volatile" in match[0].partition(match["rest"])[0] else ""
    declared = []
    for piece in (pieces[0].strip()[len(first["type"]) :], *pieces[1:]):
        each = _DECLARATOR.fullmatch(piece.strip())
        if not each:
            raise NotEmulated(f"a declaration in shared memory: {match[0]}")
        kind = f"{volatile}{first['type'].strip()} {each['extents'].strip()}".strip()
        declared.append(f'auto &{each["name"]} = emu::shared<{kind}>({next(numbers)}, "{each["name"]}");')
    return " ".join(declared) + "\n" * match[0].count("\n")


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="emulation-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


@cache
def _runtime() -> Path:
    made = _folder() / "runtime.o"
    _compile(["g++", *_FLAGS, "-O2", "-c", str(_HERE / "runtime.cpp"), "-o", str(made)])
    return made


@lru_cache(maxsize=512)
def _compiled(source: str, kernel: str) -> Path:
    text = translated(source)
    constants = sorted({match["name"] for match in _CONSTANT.finditer(text)})
    cases = "".join(
        f'    if (!strcmp(name, "{name}") && size <= sizeof({name}))\n'
        f"        return memcpy((void *)&{name}, from, size), true;\n"
        for name in constants
    )
    cooperative = "true" if _COOPERATES.search(text) else "false"
    whole = (
        f'#include "cuda.h"\n#line 1 "kernel.cu"\n{text}\n#line 1 "call"\nnamespace emu {{\n'
        f"void call(const Given *given, size_t count) {{ invoke(&{kernel}, given, count); }}\n"
        f"bool constant(const char *name, const void *from, size_t size) {{\n{cases}    return false;\n}}\n"
        f"extern const bool cooperative = {cooperative};\n}}\n"
    )
    stem = _folder() / sha256(whole.encode()).hexdigest()[:24]
    file = stem.with_suffix(".cpp")
    file.write_text(whole, encoding="utf-8", errors="surrogateescape")
    made = stem.with_suffix(".o")
    _compile(["g++", *_FLAGS, "-fsanitize=thread", "-c", str(file), "-o", str(made)])
    _compile(["g++", "-static", str(made), str(_runtime()), "-o", str(stem)])  # loads faster
    return stem


def _compile(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotEmulated(done.stderr)
