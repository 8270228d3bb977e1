"""From a kernel file to a cubin whose source lines bear the file's relative name."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ncuview.errors import CompileFailed
from ncuview.ruleset.kernel_file import Kernel

_ARCHITECTURE = "native"


@dataclass(frozen=True)
class Compiled:
    """A kernel's machine code.

    Attributes:
        cubin: The file.
        symbol: The kernel's mangled name in it.
    """

    cubin: Path
    symbol: str


def compile_kernel(nvcc: Path, kernel: Kernel, folder: Path, architecture: str = _ARCHITECTURE) -> Compiled:
    """Compile a catalogue kernel with line information.

    nvcc writes absolute source names into its line table. Going through PTX lets us make them relative to the folder of
    kernels, so that ncu finds the source from there and no report says where a checkout lies.

    Args:
        nvcc: The compiler.
        kernel: What to compile.
        folder: Where the files go.
        architecture: ``native`` for the GPU of this machine, or one such as ``sm_90``.

    Raises:
        CompileFailed: nvcc rejected the kernel; the message ends with its words.
    """
    root = kernel.path.parents[1]
    ptx, cubin = folder / f"{kernel.name}.ptx", folder / f"{kernel.name}.cubin"
    options = [f"-arch={architecture}", "-lineinfo"]
    _run([str(nvcc), *options, "-ptx", "-o", str(ptx), str(kernel.path.relative_to(root))], root, kernel)
    ptx.write_text(ptx.read_text(encoding="utf-8").replace(f'"{root}/', '"'), encoding="utf-8")
    _run([str(nvcc), *options, "-cubin", "-o", str(cubin), str(ptx)], root, kernel)
    return Compiled(cubin, _symbol(cubin, kernel))


def _run(command: list[str], root: Path, kernel: Kernel) -> None:
    done = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        words = "\n".join((done.stderr or done.stdout).strip().splitlines()[-20:])
        raise CompileFailed(
            f"nvcc rejects {kernel.path.relative_to(root)}:\n{words}", hint="Compile it by hand with nvcc -cubin."
        )


def _symbol(cubin: Path, kernel: Kernel) -> str:
    """The kernel's mangled name (_Z, length, name, types), which its code section bears."""
    mangled = rf"\.text\.(_Z{len(kernel.name)}{kernel.name}[A-Z]\w*)\0".encode()
    found = re.search(mangled, cubin.read_bytes())
    if not found:
        raise CompileFailed(
            f"{kernel.path.name} holds no kernel {kernel.name}", hint="File, front matter and function bear one name."
        )
    return found[1].decode()
