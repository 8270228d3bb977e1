"""Compare a user's ``Launch`` with the kernel's declaration in its .cu file, as far as the text of the file shows it.

``definitions`` finds the kernels of a file; ``check_signature`` refuses a launch of a kernel that is not among
them, arrays of other elements than its parameters have, and blocks that no GPU takes. The compiler judges the rest:
kernels of included files, and types with other names.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from ncuview.base.errors import KernelFileError
from ncuview.base.suggestion import did_you_mean
from ncuview.catalogue.kernels import Launch

LARGEST_BLOCK = 1024
"""Threads of a block, of every compute capability."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ATTRIBUTE = re.compile(r"__\w+__\s*\([^()]*\)")
_DEFINITION = re.compile(
    r"(?P<template>template\s*<[^;{}]*>\s*(?:\w+\s+)*)?"
    r"__global__\s[^;{]*?(?P<name>\w+)\s*\((?P<parameters>[^;{]*)\)\s*\{"
)
_BRACE = re.compile(r"(?:\bnamespace\s+(?P<namespace>[\w:]+)\s*)?\{|\}")
_OTHER_SOURCES = re.compile(r'^\s*#\s*include\s*"|##', re.MULTILINE)
"""Kernels may be in an included file, and macros may make their names."""
_QUALIFIER = re.compile(r"\b(?:const|volatile|__restrict__|__restrict|__grid_constant__)\b")
_POINTER = re.compile(r"(?P<type>\w[\w ]*?)\s*\*\s*\w+")
_TYPES = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "__half": "float16",
    "char": "int8",
    "signed char": "int8",
    "unsigned char": "uint8",
    "short": "int16",
    "unsigned short": "uint16",
    "int": "int32",
    "unsigned": "uint32",
    "unsigned int": "uint32",
    "long long": "int64",
    "unsigned long long": "uint64",
    "size_t": "uint64",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""The names of C++ -> those of NumPy."""


@dataclass(frozen=True)
class Definition:
    """A kernel's definition in the text of a file.

    Attributes:
        name: The function's name.
        namespace: The namespaces around it, ``blas::detail``; empty outside of all named ones.
        is_template: Whether its name needs template arguments.
        parameters: The text between its parentheses.
    """

    name: str
    namespace: str
    is_template: bool
    parameters: str

    @property
    def full_name(self) -> str:
        """The name with its namespaces."""
        return "::".join(filter(None, [self.namespace, self.name]))


def definitions(source: str) -> Iterator[Definition]:
    """The kernels that a file defines, in order."""
    code = _ATTRIBUTE.sub("", _COMMENT.sub("", source))
    for found in _DEFINITION.finditer(code):
        namespace = _namespace(code[: found.start()])
        yield Definition(found["name"], namespace, bool(found["template"]), found["parameters"])


def _namespace(before: str) -> str:
    """The named namespaces that are open at the end of a text."""
    blocks: list[str] = []
    for brace in _BRACE.finditer(before):
        if brace[0] != "}":
            blocks.append(brace["namespace"] or "")
        elif blocks:
            blocks.pop()
    return "::".join(filter(None, blocks))


def check_signature(launch: Launch) -> None:
    """Refuse a launch that contradicts the kernel's declaration.

    Raises:
        KernelFileError: The kernel is not in the file, an argument has another type, or a block is too large.
    """
    path, name = launch.kernel.path, launch.kernel.function
    if (threads := prod(launch.block)) > LARGEST_BLOCK:
        raise KernelFileError(
            f"a block has at most {LARGEST_BLOCK} threads, and the launch gives {threads:,}",
            hint="More threads take more blocks: a larger grid.",
        )
    source = path.read_text(encoding="utf-8", errors="replace")
    kernels = list(definitions(source))
    if kernels and not re.search(rf"\b{name}\b", _COMMENT.sub("", source)):
        if not _OTHER_SOURCES.search(source):
            names = list(dict.fromkeys(each.name for each in kernels))
            hint = did_you_mean(name, names, f"It has {', '.join(names)}.")
            raise KernelFileError(f"{path.name} has no kernel {name!r}", hint=hint)
    elif len(declared := [each.parameters for each in kernels if each.name == name]) == 1:
        _check_types(launch, declared[0].split(",") if declared[0].strip() else [])


def check_number_of_arguments(launch: Launch) -> None:
    """Refuse a launch with more or fewer arguments than the only definition of its kernel in the file has parameters.

    ``check_arguments`` does so for a compiled kernel; this takes no compiler, and leaves out kernels with a type
    that may have a comma inside.

    Raises:
        KernelFileError: The numbers differ.
    """
    source = launch.kernel.path.read_text(encoding="utf-8", errors="replace")
    declared = [each.parameters for each in definitions(source) if each.name == launch.kernel.function]
    if len(declared) != 1 or set("<(") & set(declared[0]):
        return
    given = sum(argument["role"] != "constant" for argument in launch.args)
    takes = declared[0].count(",") + 1 if declared[0].strip() else 0
    if given != takes:
        raise KernelFileError(
            f"{launch.kernel.name} takes {takes} arguments, and its launch gives {given}",
            hint="Give one for each parameter, in order.",
        )


def _check_types(launch: Launch, parameters: list[str]) -> None:
    given = [argument for argument in launch.args if argument["role"] != "constant"]
    if len(given) != len(parameters):  # a comma inside a type, or what ``check_arguments`` refuses
        return
    for place, (argument, parameter) in enumerate(zip(given, parameters, strict=True), start=1):
        declared = " ".join(_QUALIFIER.sub(" ", parameter).split())
        pointer = _POINTER.fullmatch(declared)
        wanted = _TYPES.get(pointer["type"]) if pointer and argument["role"] != "scalar" else None
        if wanted and not _same_elements(wanted, argument["dtype"]):
            raise KernelFileError(
                f"argument {place} of {launch.kernel.name} is {' '.join(parameter.split())}, and its launch gives"
                f" {argument['dtype']}",
                hint=f"Its elements are {wanted}.",
            )


def _same_elements(one: str, other: str) -> bool:
    """Whether two types have the same size, and both or neither are floating-point numbers."""
    first, second = np.dtype(one), np.dtype(other)
    return first.itemsize == second.itemsize and (first.kind == "f") == (second.kind == "f")
