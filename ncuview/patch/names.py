"""Refuse to patch a ``Kernel`` that uses a name which its file does not define: it may be a macro with any meaning.

``check_known_names`` raises ``Refused`` with the name and its line.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from ncuview.patch.constants import constant, file_constant
from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel, above, child, line_of, takes_values, within

if TYPE_CHECKING:
    from tree_sitter import Node

_OF_CUDA = re.compile(
    r"^(?:threadIdx|blockIdx|blockDim|gridDim|warpSize|__sync\w+|__shfl\w*|atomic[A-Z]\w*|__ballot_sync|nullptr"
    r"|(?:FLT|DBL|INT|UINT|LONG|ULONG|CHAR|SHRT)_(?:MAX|MIN|EPSILON)|INFINITY|NAN|M_[A-Z0-9_]+|static_cast|std)$"
)
_LITERAL = re.compile(r"^[\s()]*[-+]?[\d.][\w.+-]*[\s()]*$")


def check_known_names(kernel: Kernel) -> None:
    """Refuse a kernel that uses a name which this file does not define.

    Raises:
        Refused: It uses such a name.
    """
    program = kernel.program
    template = next((each for each in above(kernel.definition) if each.type == "template_declaration"), None)
    parameters = template.child_by_field_name("parameters") if template is not None else None
    of_template = {program.text(each) for each in within(parameters)} if parameters is not None else set()
    for node in kernel.of_type("identifier"):
        name = program.text(node)
        ours = name in kernel.declared or name in of_template or name in program.functions
        if not ours and not _OF_CUDA.match(name) and not takes_values(name) and not _is_value(kernel, node):
            raise Refused(f"line {line_of(node)} uses {name}, which may be a macro: this file does not define it")


def _is_value(kernel: Kernel, node: Node) -> bool:
    program = kernel.program
    found = file_constant(program, program.text(node))
    if constant(program, node) is not None or (found is not None and found.type != "preproc_def"):
        return True
    return found is not None and bool(_LITERAL.match(program.text(child(found, "value"))))
