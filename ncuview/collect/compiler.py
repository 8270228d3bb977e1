"""From a kernel file to a cubin whose source lines bear the file's relative name."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ncuview.errors import CompileFailed
from ncuview.ruleset.kernel_file import Kernel

_ARCHITECTURE = "native"


@dataclass(frozen=True)
class Compiled:
    """A kernel file's machine code.

    Attributes:
        cubin: The file.
        kernel: What it was compiled from.
    """

    cubin: Path
    kernel: Kernel

    def symbol(self, template: Sequence[int] = ()) -> str:
        """The kernel's mangled name, which its code section bears: _Z, length, name, template arguments, types.

        Raises:
            CompileFailed: The file holds no such kernel.
        """
        name = self.kernel.function
        arguments = "I" + "".join(f"L[a-z]{value}E" for value in template) + "E" if template else ""
        mangled = rf"\.text\.(_Z{len(name)}{name}{arguments}[A-Za-z]\w*)\0".encode()
        found = re.search(mangled, self.cubin.read_bytes())
        if not found:
            instance = f"{name}<{', '.join(map(str, template))}>" if template else name
            raise CompileFailed(
                f"{self.kernel.path.name} holds no kernel {instance}",
                hint="File, front matter and function bear one name, and each template is instantiated.",
            )
        return found[1].decode()


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
    ptx, cubin = folder / f"{kernel.function}.ptx", folder / f"{kernel.function}.cubin"
    options = [f"-arch={architecture}", "-lineinfo"]
    _run([str(nvcc), *options, "-ptx", "-o", str(ptx), str(kernel.path.relative_to(root))], root, kernel)
    ptx.write_text(ptx.read_text(encoding="utf-8").replace(f'"{root}/', '"'), encoding="utf-8")
    _run([str(nvcc), *options, "-cubin", "-o", str(cubin), str(ptx)], root, kernel)
    return Compiled(cubin, kernel)


def _run(command: list[str], root: Path, kernel: Kernel) -> None:
    done = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        words = "\n".join((done.stderr or done.stdout).strip().splitlines()[-20:])
        raise CompileFailed(
            f"nvcc rejects {kernel.path.relative_to(root)}:\n{words}", hint="Compile it by hand with nvcc -cubin."
        )
