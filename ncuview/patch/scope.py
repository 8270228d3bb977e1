"""List the functions that an arithmetic patch may edit: the kernel, and the device functions that only it uses.

``own_functions`` takes a ``Kernel`` and returns tree-sitter nodes of function definitions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ncuview.patch.program import Kernel, above, child, function_declarator

if TYPE_CHECKING:
    from tree_sitter import Node


def own_functions(kernel: Kernel) -> list[Node]:
    """The kernel, and the device functions of its file that no other function calls, directly or through each other."""
    program = kernel.program
    own: dict[str, Node] = {kernel.name: kernel.definition}
    grown = True
    while grown:
        grown = False
        for name, definitions in program.functions.items():
            if name in own or len(definitions) != 1 or definitions[0].has_error or program.in_macros(name):
                continue
            (definition,) = definitions
            head = function_declarator(definition)
            device = any(
                part.type == "__device__" or program.text(part) == "__device__" for part in definition.children
            )
            host = any(program.text(part) == "__host__" for part in definition.children)
            uses = [node for node in program.named(name) if head is None or node != child(head, "declarator")]
            users = {_function_around(node) for node in uses}
            if device and not host and uses and users <= {each.start_byte for each in own.values()}:
                own[name] = definition
                grown = True
    return list(own.values())


def _function_around(node: Node) -> int:
    return next((each.start_byte for each in above(node) if each.type == "function_definition"), -1)
