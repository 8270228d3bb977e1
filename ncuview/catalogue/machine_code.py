"""Read a cubin or program with cuobjdump -> each kernel's registers, memory, barriers, instructions and source lines.

``code_of_cubin`` and ``code_of_program`` return ``KernelCode``s; neither a GPU nor any permission is needed.
``cuobjdump`` is that of the CUDA toolkit or of the packages nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm. It prints
instructions in the form of Nsight Compute, so that ``sass`` parses both.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from ncuview.base.errors import ReportEmpty, ToolError
from ncuview.base.figures import duration
from ncuview.base.log import run_logged
from ncuview.profiling.machine import find_nvcc
from ncuview.reader.line_table import LineTable, LineTableError, line_tables
from ncuview.sass.code import Code
from ncuview.sass.repeated_passes import Place

TIMEOUT_S = 120
"""A program of a thousand kernels takes about ten seconds."""
DISASSEMBLERS = ("cuobjdump", "nvdisasm")
INSTALL_DISASSEMBLERS = "It comes with the CUDA toolkit, or: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm"
_RESERVED = 1024
"""From compute capability 9.0 on, cuobjdump adds what the driver reserves of each block's shared memory."""
_RESERVES_FROM = 9
_USAGE = re.compile(
    r"^ Function (?P<symbol>\S+):\n\s+REG:(?P<registers>\d+) STACK:(?P<stack>\d+) SHARED:(?P<shared>\d+) (?P<rest>.*)$",
    re.MULTILINE,
)
_KERNEL = "CONSTANT[0]:"
"""The constant bank of the arguments; functions that kernels call have none."""
_FUNCTION = re.compile(r"^\s*Function : (?P<symbol>\S+)\s*$", re.MULTILINE)
_INSTRUCTION = re.compile(
    r"^\s+/\*(?P<address>[0-9a-f]{4,})\*/\s+(?P<text>.*?)\s*;?\s*/\* 0x[0-9a-f]{16} \*/$", re.MULTILINE
)
_ARCHITECTURE = re.compile(r"^\s*code for (?P<name>sm_(?P<number>\d+)[a-z]?)\s*$", re.MULTILINE)
_CUBIN = re.compile(r"\.(?P<name>sm_(?P<number>\d+)[a-z]?)\.cubin\s*$", re.MULTILINE)
_REUSE = re.compile(r"\.reuse\b")
"""A mark that Nsight Compute does not print: an operand is reused by the next instruction."""
_BARRIER = re.compile(r"(?:@!?U?P\d+\s+)?BAR\.\S+\s+(?P<number>0x[0-9a-f]+|R\d+)")
_MOST_BARRIERS = 16
KERNELS_AT_MOST = 100
"""Of a program with more, the first ones are analysed."""
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*$")


@dataclass(frozen=True)
class KernelCode:
    """One kernel's machine code for one architecture.

    Attributes:
        symbol: Its mangled name.
        name: Its C++ name, where a demangler is installed.
        capability: The compute capability that it was compiled for: ``9.0``.
        registers: Per thread.
        stack: Bytes of local memory per thread: spilled registers, arrays, frames of calls.
        shared: Bytes of static shared memory per block.
        barriers: The number of barriers; 16 where a register selects the barrier.
        code: Its instructions.
        places: The line of the kernel's own source for each instruction.
    """

    symbol: str
    name: str
    capability: str
    registers: int
    stack: int
    shared: int
    barriers: int
    code: Code
    places: tuple[Place, ...]


def every(_: str) -> bool:
    """Wants all kernels."""
    return True


def code_of_cubin(cubin: Path, wanted: Callable[[str], bool] = every) -> tuple[KernelCode, ...]:
    """The kernels of a linked cubin, in its order.

    Args:
        cubin: The file.
        wanted: Whether a mangled name is that of a wanted kernel; others are not disassembled, which takes longest.

    Raises:
        ToolError: cuobjdump or nvdisasm is missing, or failed.
    """
    tools = _tools()
    usage = _asked(tools, "-res-usage", cubin)
    symbols = [symbol for each in _kernels(usage) if wanted(symbol := each["symbol"])]
    if not symbols:
        return ()
    code = _asked(tools, "-sass", "-fun", ",".join(symbols[:KERNELS_AT_MOST]), cubin)
    return tuple(_read(usage, code, _line_tables(cubin, symbols), _demangled(symbols)))


def code_of_program(
    program: str, folder: Path, capability: str = "", wanted: Callable[[str], bool] = every
) -> tuple[KernelCode, ...]:
    """The kernels in a program's file, of the architecture that the GPU would run.

    Args:
        program: The first word of a command: a file, or a program on PATH.
        folder: An empty private folder.
        capability: The GPU's compute capability, which selects one of several architectures; the newest is taken where
            it is unknown.
        wanted: Whether a mangled name is that of a wanted kernel.

    Raises:
        ReportEmpty: The file holds no machine code for this GPU: a script, a Python program, a program whose kernels
            are in libraries, or one that holds only PTX for this GPU.
        ToolError: cuobjdump or nvdisasm is missing, or failed.
    """
    file = _file_of(program)
    tools = _tools()
    listed = _CUBIN.findall(_asked(tools, "-lelf", file, may_fail=True))
    if not listed:
        raise ReportEmpty(
            f"{file.name} holds no machine code of a GPU",
            hint="Name the program itself, not a script that starts it; shared libraries hold their own kernels.",
        )
    chosen = _best(set(listed), capability)
    if chosen is None:
        built = ", ".join(sorted({name for name, _ in listed}))
        raise ReportEmpty(
            f"{file.name} holds no machine code for this GPU of compute capability {capability}, only for {built}",
            hint=f"Compile it with -arch=sm_{capability.replace('.', '')}.",
        )
    _asked(tools, "-xelf", f".{chosen}.cubin", file, folder=folder)
    cubins = sorted(folder.glob(f"*.{chosen}.cubin"))
    found = tuple(kernel for cubin in cubins for kernel in code_of_cubin(cubin, wanted))
    if not found:
        such = "" if wanted is every else "such "
        raise ReportEmpty(f"{file.name} holds no {such}kernel for {chosen}", hint="Its kernels may be in libraries.")
    return found


def _file_of(program: str) -> Path:
    found = shutil.which(program)
    if program.endswith(".py") or _PYTHON.match(Path(program).name):
        raise ReportEmpty(
            "a Python program cannot be analysed before it runs: it makes or loads its kernels",
            hint="Give one of its kernels as a .cu file.",
        )
    if found is None:
        raise ReportEmpty(f"the program {program} is missing", hint="Check its path.")
    return Path(found).absolute()


def _best(listed: Iterable[tuple[str, str]], capability: str) -> str | None:
    """The architecture whose code the driver would load: of the same major version, and not newer than the GPU."""
    major, _, minor = capability.partition(".")
    fitting = [
        (int(number), name)
        for name, number in listed
        if not capability or (number[:-1] == major and int(number[-1]) <= int(minor))
    ]
    return max(fitting)[1] if fitting else None


def find_disassembler(name: str) -> Path | None:
    """The path of cuobjdump or nvdisasm, as ncuview would use it; None where it is missing."""
    found = shutil.which(name, path=_search_path())
    return Path(found) if found else None


def _search_path() -> str:
    """The folders in which cuobjdump and nvdisasm are searched, as PATH."""
    nvcc = find_nvcc()
    folders = [os.environ.get("PATH", os.defpath), *([str(nvcc.parent)] if nvcc else []), *_of_packages()]
    return os.pathsep.join(folders)


def _tools() -> str:
    """The folders in which cuobjdump and nvdisasm are searched, as PATH.

    Raises:
        ToolError: One of them is missing.
    """
    for name in DISASSEMBLERS:
        if find_disassembler(name) is None:
            raise ToolError(
                f"{name} is missing: it is neither on PATH nor beside nvcc nor a Python package",
                hint=INSTALL_DISASSEMBLERS,
                id="CuobjdumpNotFound",
            )
    return _search_path()


def _of_packages() -> list[str]:
    """The folders of programs in NVIDIA's Python packages."""
    packages = find_spec("nvidia")
    homes = packages.submodule_search_locations or () if packages else ()
    return [str(folder) for home in homes for folder in sorted(Path(home).glob("*/bin"))]


def _asked(places: str, *words: str | Path, folder: Path | None = None, may_fail: bool = False) -> str:
    """The output of cuobjdump.

    Raises:
        ToolError: It failed, or took too long.
    """
    cuobjdump = shutil.which("cuobjdump", path=places) or "cuobjdump"
    try:
        done = run_logged([cuobjdump, *words], cwd=folder, env={"PATH": places}, timeout=TIMEOUT_S)  # for nvdisasm
    except subprocess.TimeoutExpired as late:
        raise _failed(f"took more than {duration(1e9 * TIMEOUT_S)}") from late
    if done.returncode and not may_fail:
        said = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise _failed(said[-1])
    return done.stdout


def _failed(why: str) -> ToolError:
    hint = "Use the cuobjdump of a CUDA toolkit that is as new as the nvcc which compiled the file."
    return ToolError(f"cuobjdump failed: {why}", hint=hint, id="CuobjdumpFailed")


def _kernels(usage: str) -> list[re.Match[str]]:
    return [each for each in _USAGE.finditer(usage) if _KERNEL in each["rest"]]


def _read(usage: str, code: str, tables: Mapping[str, LineTable], names: Mapping[str, str]) -> Iterator[KernelCode]:
    built = _ARCHITECTURE.search(code)
    number = built["number"] if built else "00"
    capability = f"{number[:-1]}.{number[-1]}"
    instructions = dict(_functions(code))
    for each in _kernels(usage):
        symbol = each["symbol"]
        if symbol not in instructions:
            continue
        texts, addresses = instructions[symbol]
        reserved = _RESERVED if int(number[:-1]) >= _RESERVES_FROM else 0
        yield KernelCode(
            symbol=symbol,
            name=names.get(symbol, symbol),
            capability=capability,
            registers=int(each["registers"]),
            stack=int(each["stack"]),
            shared=max(0, int(each["shared"]) - reserved),
            barriers=_barriers(texts),
            code=Code(texts, addresses),
            places=_places(tables.get(symbol), addresses),
        )


def _functions(code: str) -> Iterator[tuple[str, tuple[tuple[str, ...], tuple[int, ...]]]]:
    """Each function's name, and its instructions with their addresses."""
    heads = list(_FUNCTION.finditer(code))
    for head, end in zip(heads, [*(head.start() for head in heads[1:]), len(code)], strict=True):
        found = [
            (" ".join(_REUSE.sub("", each["text"]).split()), int(each["address"], 16))
            for each in _INSTRUCTION.finditer(code, head.end(), end)
        ]
        yield head["symbol"], (tuple(text for text, _ in found), tuple(address for _, address in found))


def _barriers(texts: Sequence[str]) -> int:
    """One more than the highest number of a barrier; the maximum where a register selects it."""
    named = [each["number"] for text in texts if (each := _BARRIER.match(text))]
    return max((_MOST_BARRIERS if name.startswith("R") else int(name, 16) + 1 for name in named), default=0)


def _line_tables(cubin: Path, symbols: Collection[str]) -> dict[str, LineTable]:
    try:
        return {table.function: table for table in line_tables(cubin.read_bytes(), symbols)}
    except LineTableError:
        return {}


def _places(table: LineTable | None, addresses: Sequence[int]) -> tuple[Place, ...]:
    """The line of the kernel's own code for each instruction, also where code of a library is inlined."""
    return tuple(_place(table, address) for address in addresses) if table else (("", 0),) * len(addresses)


def _place(table: LineTable, address: int) -> Place:
    rows = table.rows_at(address)
    if not rows:
        return "", 0
    row = table.call_of(rows[-1]) or rows[-1]
    return row.file, row.line


def _demangled(symbols: Sequence[str]) -> dict[str, str]:
    """Mangled -> C++ names of functions; empty where no demangler is installed or it fails."""
    demangler = shutil.which("cu++filt") or shutil.which("c++filt")
    if demangler is None:
        return {}
    try:
        done = subprocess.run(
            [demangler],
            env={"PATH": os.environ.get("PATH", os.defpath)},
            input="\n".join(symbols),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TIMEOUT_S,
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError):
        return {}
    names = done.stdout.splitlines()
    return dict(zip(symbols, names, strict=True)) if len(names) == len(symbols) else {}
