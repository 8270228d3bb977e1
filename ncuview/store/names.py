"""A kernel's demangled name in parts, and texts without the folders of a machine.

``parts_of`` gives the name with its namespaces and without template arguments, and these arguments: what recognises a
kernel over commits. ``without_folders`` keeps the base names of the paths in a text.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_UNNAMED = ("(anonymous namespace)", "<unnamed>")
_PLACEHOLDER = "\0"
_PATHS = re.compile(r"(?:^|(?<=[\s'\"(@=:]))(?:[A-Za-z]:)?(?:[/\\][^\s/\\'\"`,;:()<>]+)+[/\\](?=[^\s/\\'\"`,;:()<>])")


class NameParts(NamedTuple):
    """A demangled name without result type and parameters."""

    function: str
    """With namespaces, without template arguments: ``cub::DeviceReduceKernel``."""
    template_arguments: str
    """All template arguments of namespaces, classes and function, as written, each list in angle brackets."""


@lru_cache(maxsize=4096)
def parts_of(demangled: str) -> NameParts:
    """The parts of a demangled name; of one that is no C++ name, such as ``triton_poi_fused``, the name itself."""
    text = demangled.replace(_UNNAMED[0], f"{_PLACEHOLDER}1").replace(_UNNAMED[1], f"{_PLACEHOLDER}2")
    kept: list[str] = []
    arguments: list[str] = []
    depth = 0
    for at, letter in enumerate(text):
        if letter == "<" or (letter == "(" and depth):
            depth += 1
        if depth:
            arguments.append(letter)
        elif letter == "(":
            break
        elif letter == " ":  # what was before is the result type
            kept, arguments = [], []
        else:
            kept.append(letter)
        if depth and ((letter == ">" and text[at - 1] != "-") or letter == ")"):
            depth -= 1
    function = "".join(kept) or text
    return NameParts(_restored(function), _restored("".join(arguments)))


def _restored(text: str) -> str:
    return text.replace(f"{_PLACEHOLDER}1", _UNNAMED[0]).replace(f"{_PLACEHOLDER}2", _UNNAMED[1])


def without_folders(text: str) -> str:
    """The text with absolute paths as base names: ``/home/a/x.cu:3`` is ``x.cu:3``."""
    return _PATHS.sub("", text) if "/" in text or "\\" in text else text


def base_name(path: str) -> str:
    """The last part of a path of any system."""
    return re.split(r"[/\\]", path)[-1]
