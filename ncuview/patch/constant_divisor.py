"""Make the patch that replaces an integer divisor, a kernel argument, by the constant that every launch passes.

``constant_divisor`` takes a ``Kernel``, returns a ``Change``, and raises ``Refused`` if launches pass different values.

Divisions by literals and other constants need no edit: nvcc converts them to multiplications and shifts. The source
does not show that an argument is a power of two, but it shows that all launches pass the same named constant.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ncuview.patch.arithmetic import Arithmetic, Kind, of_type
from ncuview.patch.constants import constant, file_constant
from ncuview.patch.launches import Launch, launches
from ncuview.patch.patch import Change, Refused, Replacement
from ncuview.patch.program import Kernel, child, line_of, on_lines, operator


def constant_divisor(kernel: Kernel, lines: Sequence[int]) -> Change:
    """Replace an argument that integers are divided by with the constant that every launch passes.

    Args:
        kernel: The kernel.
        lines: The lines with the divisions; empty for the complete kernel.

    Raises:
        Refused: No divisor is an argument, or not every launch passes the same constant of this file.
    """
    arithmetic = Arithmetic(kernel.program, kernel.definition)
    divisions = [
        node
        for node in kernel.of_type("binary_expression")
        if operator(node) in {"/", "%"}
        and (not lines or on_lines(node, lines))
        and arithmetic.kind(node) is not Kind.FLOAT
        and arithmetic.kind(node) is not Kind.DOUBLE
    ]
    if not divisions:
        raise Refused("these lines divide no integers")
    divisors = [child(node, "right") for node in divisions]
    names = {kernel.program.text(each) for each in divisors if each.type == "identifier"}
    known = {name: _constant_of(kernel, name) for name in sorted(names) if name in kernel.parameters}
    if not known:
        if all(constant(kernel.program, each) is not None for each in divisors):
            raise Refused("the divisors are constants, for which nvcc already avoids the division")
        raise Refused("the divisors are not arguments, so the source does not show their values")
    replacements = [
        Replacement(each.start_byte, each.end_byte, _as_type(kernel, known[name], name))
        for each in divisors
        if each.type == "identifier" and (name := kernel.program.text(each)) in known
    ]
    listed = ", ".join(f"{known[name]} for {name}" for name in known)
    return Change(
        f"Divide by a constant: {listed}", "no launch outside this file passes another number", tuple(replacements)
    )


def _constant_of(kernel: Kernel, name: str) -> str:
    """The name of the constant that all launches pass for a parameter."""
    if (
        name in kernel.changed
        or len(kernel.declared[name]) != 1
        or of_type(kernel.parameters[name].type) is not Kind.INTEGER
    ):
        raise Refused(f"{name} changes in {kernel.name}, or is not a plain integer")
    found = launches(kernel)
    position = list(kernel.parameters).index(name)
    texts = {_argument(kernel, launch, position) for launch in found}
    if len(texts) != 1:
        raise Refused(f"launches pass different values for {name}: {', '.join(sorted(texts))}")
    text = texts.pop()
    defined = file_constant(kernel.program, text) if re.fullmatch(r"[A-Za-z_]\w*", text) else None
    value = None
    for launch in found:
        value = constant(kernel.program, launch.arguments[position])
    if defined is None or value is None or value < 1 or text in kernel.declared:
        raise Refused(f"launches pass {text} for {name}, which is not a constant that the kernel could use")
    if defined.start_byte > kernel.definition.start_byte:
        raise Refused(f"{text} is defined after {kernel.name}")
    return text


def _argument(kernel: Kernel, launch: Launch, position: int) -> str:
    if len(launch.arguments) != len(kernel.parameters):
        raise Refused(f"the launch on line {line_of(launch.node)} does not give every argument")
    return kernel.program.text(launch.arguments[position])


def _as_type(kernel: Kernel, text: str, name: str) -> str:
    """The constant, cast to the parameter's type, so that sign and width stay the same."""
    kind = re.sub(r"\s+", " ", kernel.parameters[name].type)
    return text if kind == "int" and _is_int(kernel, text) else f"static_cast<{kind}>({text})"


def _is_int(kernel: Kernel, name: str) -> bool:
    found = file_constant(kernel.program, name)
    if found is None:
        return False
    if found.type == "preproc_def":
        body = kernel.program.text(child(found, "value")).split("//")[0].strip()
        return bool(re.fullmatch(r"\(?\s*\d{1,9}\s*\)?", body))
    return kernel.program.text(child(found, "type")) == "int"
