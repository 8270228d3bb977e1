"""Compile the .cu source of a catalogue's or user's kernel with nvcc, through PTX, to a cubin with line information.

``compile_kernel`` and ``compile_user_kernel`` return a ``Compiled``: the cubin, the mangled name, a user's parameters.
Source names in the line information are relative to the kernel's root.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ncuview.base.errors import CompileFailed
from ncuview.base.log import run_logged
from ncuview.catalogue.kernel_file import Kernel

NATIVE = "native"
"""The architecture of this machine's GPU; without a GPU, nvcc takes the oldest that it supports."""
_ASKED = "ncuview_asked"
_ASKING = """#include "{path}"
extern "C" __global__ void {asked}(const void **where) {{ *where = (const void *)(&{kernel}); }}
"""
_ANSWER = re.compile(rf"^\.visible \.entry {_ASKED}\(.*?^}}\n", re.DOTALL | re.MULTILINE)
_ADDRESS = re.compile(r"mov\.\w64\s+%\w+,\s*([A-Za-z_$][\w$]*);")
_PARAMETER = re.compile(r"\.param\s+(?:\.align\s+\d+\s+)?\.(?P<type>\w+)[^,\[]*(?:\[(?P<bytes>\d+)\])?")
_BYTES = {"b8": 1, "s8": 1, "u8": 1, "b16": 2, "s16": 2, "u16": 2, "f16": 2, "b32": 4, "s32": 4, "u32": 4, "f32": 4}


@dataclass(frozen=True)
class Parameter:
    """One parameter of a compiled kernel.

    Attributes:
        bytes: Its size.
        kind: ``f`` for a floating-point number, ``i`` for an integer or pointer, ``V`` for a structure.
    """

    bytes: int
    kind: str


@dataclass(frozen=True)
class Compiled:
    """A kernel file's machine code.

    Attributes:
        cubin: The file.
        kernel: The kernel that it was compiled from.
        entry: The mangled name of a user's kernel, from the compiler; empty for a catalogue kernel.
        parameters: The parameters of a user's kernel, in order.
    """

    cubin: Path
    kernel: Kernel
    entry: str = ""
    parameters: tuple[Parameter, ...] = ()

    def symbol(self, template: Sequence[int] = ()) -> str:
        """The kernel's mangled name, from the name of its code section: _Z, length, name, template arguments, types.

        Raises:
            CompileFailed: The file holds no such kernel.
        """
        if self.entry:
            return self.entry
        name = self.kernel.function
        arguments = "I" + "".join(f"L[a-z]{value}E" for value in template) + "E" if template else ""
        mangled = rf"\.text\.(_Z{len(name)}{name}{arguments}[A-Za-z]\w*)\0".encode()
        found = re.search(mangled, self.cubin.read_bytes())
        if not found:
            instance = f"{name}<{', '.join(map(str, template))}>" if template else name
            raise CompileFailed(
                f"{self.kernel.path.name} holds no kernel {instance}",
                hint="File, front matter and function must have the same name, and each template must be instantiated.",
            )
        return found[1].decode()


def compile_kernel(nvcc: Path, kernel: Kernel, folder: Path, architecture: str = NATIVE) -> Compiled:
    """Compile a catalogue kernel with line information.

    nvcc writes absolute source names into its line table. In PTX they are made relative to the kernel's root, so that
    ncu finds the source from there and no report names the folder of a checkout.

    Args:
        nvcc: The compiler.
        kernel: The kernel to compile.
        folder: The folder for the files.
        architecture: ``native`` for the GPU of this machine, or one such as ``sm_90``.

    Raises:
        CompileFailed: nvcc rejected the kernel; the message ends with nvcc's output.
    """
    build = _Build(nvcc, kernel, folder, architecture)
    return Compiled(build.cubin_of(build.ptx_of(kernel.path)), kernel)


def compile_user_kernel(nvcc: Path, kernel: Kernel, folder: Path, architecture: str = NATIVE) -> Compiled:
    """Compile a user's kernel with line information; a template is instantiated with the arguments in its name.

    Only the compiler knows the mangled name of a C++ kernel: namespaces, anonymous ones, ``extern "C"``, default
    template arguments and macros all matter. So a second kernel takes the address of the first; the mangled name is
    read from its PTX, and it is removed again.

    Args:
        nvcc: The compiler.
        kernel: The kernel to compile; its name is an expression of C++.
        folder: The folder for the files.
        architecture: ``native`` for the GPU of this machine, or one such as ``sm_90``; an architecture in
            ``nvcc_args`` replaces it.

    Raises:
        CompileFailed: nvcc rejected the file or the kernel's name; the message ends with nvcc's output.
    """
    build = _Build(nvcc, kernel, folder, architecture)
    asking = folder / f"{kernel.function}.asking.cu"
    asking.write_text(_ASKING.format(path=kernel.path, asked=_ASKED, kernel=kernel.text.name), encoding="utf-8")
    text = build.ptx_of(asking)
    answer = _ANSWER.search(text)
    address = _ADDRESS.search(answer[0]) if answer else None
    if not answer or not address:
        raise CompileFailed(
            f"this nvcc does not give the mangled name of {kernel.text.name}",
            hint='Declare the kernel extern "C", or profile your own program: ncuview analyze -- ./program',
        )
    text = text.replace(answer[0], "")
    return Compiled(build.cubin_of(text), kernel, address[1], _parameters(text, address[1]))


def _parameters(ptx: str, entry: str) -> tuple[Parameter, ...]:
    """A kernel's parameters, from its declaration in PTX."""
    declared = re.search(rf"\.entry {re.escape(entry)}\((.*?)\)", ptx, re.DOTALL)
    found = _PARAMETER.finditer(declared[1] if declared else "")
    return tuple(_parameter(each["type"], each["bytes"]) for each in found)


def _parameter(ptx_type: str, array: str | None) -> Parameter:
    if array:
        return Parameter(int(array), "V")
    return Parameter(_BYTES.get(ptx_type, 8), "f" if ptx_type.startswith("f") else "i")


@dataclass(frozen=True)
class _Build:
    """How one kernel is compiled."""

    nvcc: Path
    kernel: Kernel
    folder: Path
    architecture: str

    def ptx_of(self, source: Path) -> str:
        """PTX whose line table names sources below the kernel's root from there."""
        root = self.kernel.root
        named = source.relative_to(root) if source.is_relative_to(root) else source
        ptx = self._file("ptx")
        self._run("-ptx", "-o", str(ptx), str(named))
        return ptx.read_text(encoding="utf-8").replace(f'"{root}/', '"')

    def cubin_of(self, text: str) -> Path:
        ptx, cubin = self._file("ptx"), self._file("cubin")
        ptx.write_text(text, encoding="utf-8")
        self._run("-cubin", "-o", str(cubin), str(ptx))
        return cubin

    def _file(self, ending: str) -> Path:
        return self.folder / f"{self.kernel.function}.{ending}"

    def _run(self, *words: str) -> None:
        given = self.kernel.nvcc_args
        named = any(word.startswith(("-arch", "--gpu-architecture", "-gencode", "--generate-code")) for word in given)
        target = [] if named else [f"-arch={self.architecture}"]
        command = [str(self.nvcc), *target, "-lineinfo", *given, *words]
        done = run_logged(command, cwd=self.kernel.root)
        if done.returncode:
            said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-20:])
            path = self.kernel.path
            name = path.relative_to(self.kernel.root) if path.is_relative_to(self.kernel.root) else path
            hint = "Compile it yourself with nvcc -cubin."
            if not self.kernel.of_catalogue:
                hint += " A kernel is named as in C++, blas::saxpy<float>; --nvcc-args takes further options of nvcc."
            raise CompileFailed(f"nvcc rejects {name}:\n{said}", hint=hint)
