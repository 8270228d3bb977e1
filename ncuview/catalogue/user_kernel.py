"""Build the ``Launch`` of a user's .cu kernel from its front matter or from the command line's ``LaunchOptions``.

``user_launch`` does it; ``check_arguments`` compares a launch with the compiled kernel's parameters, or raises.
``not_checked`` gives the remark for a launch without an oracle.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ncuview.base.errors import KernelFileError, UsageError
from ncuview.catalogue.compiler import Parameter
from ncuview.catalogue.kernel_file import Argument, Kernel, KernelText, LaunchTexts, has_front_matter, read_front_matter
from ncuview.catalogue.kernels import Launch, launch_of
from ncuview.catalogue.reference import ORACLES
from ncuview.catalogue.signature import Definition, check_signature, definitions


@dataclass(frozen=True)
class LaunchOptions:
    """A launch on the command line, in the arithmetic of kernel files.

    Attributes:
        kernel: The kernel's C++ name: ``saxpy``, ``blas::saxpy<float, 4>``; empty where front matter names it, or the
            file has one kernel.
        grid: Blocks in x, y and z: ``n / 256``, ``n / 32, n / 32``.
        block: Threads per block in x, y and z.
        shared: Bytes of dynamic shared memory; empty for none.
        args: A kind for each parameter, in order: ``in float32[n] below 4``, ``out float32[n]``, ``int32 = n``; one for
            a symbol begins with its name: ``weights: constant float32[9]``.
        sizes: The names in all these, ``n=1048576`` each; with front matter, other sizes than it gives.
        nvcc_args: Further options of nvcc, as typed in a shell.
    """

    kernel: str = ""
    grid: str = ""
    block: str = ""
    shared: str = ""
    args: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    nvcc_args: str = ""


_NAME = re.compile(r"(?:::\s*)?\w+(?:\s*::\s*\w+)*\s*(?:<[\w\s:,<>*&()+.'-]*>)?")
"""A C++ function's name, with optional namespaces and template arguments."""
_SIZE = re.compile(r"([A-Za-z_]\w*)=(-?\d{1,18})")
_NAMED_ARGUMENT = re.compile(r"(?:(?P<name>\w+)\s*:\s*)?(?P<kind>.*)", re.DOTALL)
_KERNELS_TO_NAME = 10
_POINTER = 8


def user_launch(path: Path, words: LaunchOptions) -> Launch:
    """The launch of a user's kernel: from the command line if it names a kernel, else from the front matter.

    The command line need not name the only kernel of a file without front matter.

    Raises:
        UsageError: The command line gives no launch, part of one, or one in addition to the front matter's.
        KernelFileError: The file or its front matter cannot be used, the arithmetic gives no launch, or the launch
            contradicts the kernel's declaration.
    """
    path = path.absolute()
    sizes = _sizes(words.sizes)
    if words.kernel:
        text = _text_of(words, sizes)
    elif has_front_matter(path):
        text = _text_of_file(path, words, sizes)
    elif words.grid or words.block or words.args:
        text = _text_of(replace(words, kernel=_only_kernel(path)), sizes)
    else:
        raise _no_launch(path)
    if not _NAME.fullmatch(text.name):
        raise KernelFileError(
            f"{path.name}: {text.name!r} is no name of a kernel", hint="Write it as in C++: saxpy<float>."
        )
    if text.oracle is not None and text.oracle not in ORACLES:
        raise KernelFileError(
            f"{path.name}: oracle: there is no {text.oracle!r}",
            hint="Leave it out; results are then not checked.",
        )
    root = Path.cwd() if path.is_relative_to(Path.cwd()) else path.parent
    kernel = Kernel(path, text, text.name, root, _shell_words("--nvcc-args", words.nvcc_args))
    launch = launch_of(kernel)
    check_signature(launch)
    return _named_in_full(launch)


def not_checked(launch: Launch) -> str:
    """The remark for a diagnosis without an oracle for the kernel's results; empty where results are checked."""
    if launch.kernel.text.oracle:
        return ""
    return f"the results of {launch.kernel.name} are not checked, since it has no oracle"


def check_arguments(launch: Launch, parameters: Sequence[Parameter]) -> None:
    """Refuse a launch whose arguments do not match the compiled kernel's parameters: the driver does not check them.

    Raises:
        KernelFileError: Their number differs, or one has another size or kind; the message names it.
    """
    given = [argument for argument in launch.args if argument["role"] != "constant"]
    name = launch.kernel.name
    if len(given) != len(parameters):
        raise KernelFileError(
            f"{name} takes {len(parameters)} arguments, and its launch gives {len(given)}",
            hint="Give one for each parameter, in order.",
        )
    for place, (argument, parameter) in enumerate(zip(given, parameters, strict=True), start=1):
        scalar = argument["role"] == "scalar"
        dtype = np.dtype(argument["dtype"])
        bytes_, kind = (dtype.itemsize, "f" if dtype.kind == "f" else "i") if scalar else (_POINTER, "i")
        if bytes_ != parameter.bytes or parameter.kind not in {kind, "V"}:
            raise KernelFileError(
                f"argument {place} of {name} is {_in_words(parameter)}, and its launch gives "
                f"{argument['dtype'] if scalar else 'an array'}",
                hint="Give one argument for each parameter, in order; int is int32, size_t is uint64.",
            )


def _in_words(parameter: Parameter) -> str:
    if parameter.kind == "V":
        return f"a structure of {parameter.bytes} bytes"
    if parameter.kind == "f":
        return f"float{8 * parameter.bytes}"
    return "a pointer or a 64-bit integer" if parameter.bytes == _POINTER else f"a {8 * parameter.bytes}-bit integer"


def _named_in_full(launch: Launch) -> Launch:
    """The launch with its template arguments in its name, which front matter may give separately."""
    if not launch.template:
        return launch
    kernel, text = launch.kernel, launch.kernel.text
    if "<" in text.name:
        raise KernelFileError(f"{kernel.path.name}: launch.template: {text.name} has template arguments already")
    name = f"{text.name}<{', '.join(map(str, launch.template))}>"
    return replace(launch, kernel=replace(kernel, text=text.model_copy(update={"name": name}), name=name))


def _text_of(words: LaunchOptions, sizes: Mapping[str, int]) -> KernelText:
    if missing := [option for option in ("grid", "block") if not getattr(words, option)]:
        raise UsageError(
            f"the launch of {words.kernel.strip()} needs --{missing[0]} too",
            hint="A launch has --grid, --block and an --arg for each parameter.",
        )
    args = [_argument(place, text) for place, text in enumerate(words.args, start=1)]
    launch = LaunchTexts(grid=_extents("grid", words.grid), block=_extents("block", words.block), shared=words.shared)
    return KernelText(name=words.kernel.strip(), sizes=dict(sizes), launch=launch, args=args)


def _text_of_file(path: Path, words: LaunchOptions, sizes: Mapping[str, int]) -> KernelText:
    beside = [option for option in ("grid", "block", "shared", "args") if getattr(words, option)]
    if beside:
        raise UsageError(
            f"--{beside[0].removesuffix('s')} needs --kernel: front matter in {path.name} defines the launch",
            hint="--size changes its sizes; --kernel NAME replaces its launch.",
        )
    text = read_front_matter(path)
    if unknown := sorted(sizes.keys() - text.sizes.keys()):
        known = f"It has {', '.join(text.sizes)}." if text.sizes else "It has none."
        raise UsageError(f"{path.name} has no size {unknown[0]!r}", hint=known)
    return text.model_copy(update={"sizes": {**text.sizes, **sizes}})


def _only_kernel(path: Path) -> str:
    """The C++ name of the kernel of a file that has one.

    Raises:
        UsageError: The file shows no kernel, or several, or a template, whose arguments only the user can choose.
    """
    found = _kernels_of(path)
    if not found:
        raise UsageError(f"{path.name} shows no __global__ function", hint="Name its kernel with --kernel.")
    if len(found) > 1:
        named = ", ".join(list(found)[:_KERNELS_TO_NAME])
        more = f" and {len(found) - _KERNELS_TO_NAME} more" if len(found) > _KERNELS_TO_NAME else ""
        raise UsageError(
            f"{path.name} has {len(found)} kernels: {named}{more}", hint=f"Choose one: --kernel {next(iter(found))}."
        )
    ((name, definition),) = found.items()
    if definition.is_template:
        raise UsageError(
            f"{name} in {path.name} is a template",
            hint=f'Name it with its template arguments, as in --kernel "{name}<float>".',
        )
    return name


def _kernels_of(path: Path) -> dict[str, Definition]:
    """The full names of the kernels in a file; of several definitions of one name, the first."""
    found: dict[str, Definition] = {}
    for each in definitions(path.read_text(encoding="utf-8", errors="replace")):
        found.setdefault(each.full_name, each)
    return found


def _no_launch(path: Path) -> UsageError:
    names = list(_kernels_of(path))[:_KERNELS_TO_NAME]
    has = f"It has {', '.join(names)}. " if names else ""
    example = (
        f'--kernel {names[0] if names else "NAME"} --grid "n / 256" --block 256 --arg "in float32[n]" --size n=4096,'
        " with one --arg for each parameter"
    )
    return UsageError(
        f"{path.name} does not define how its kernel is launched",
        hint=f"{has}Define it ({example}), or compile it and give the program: ncuview analyze -- ./program",
    )


def _argument(place: int, text: str) -> Argument:
    named = _NAMED_ARGUMENT.fullmatch(text.strip())
    name, kind = (named["name"], named["kind"]) if named else (None, text)
    if kind.startswith("constant ") and not name:
        raise UsageError(
            f"--arg {text!r}: the __constant__ symbol is missing", hint='As in --arg "weights: constant float32[9]".'
        )
    return Argument(name=name or str(place), kind=kind)


def _extents(option: str, text: str) -> list[str]:
    """The expressions between commas; those inside parentheses belong to a function."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    extents = [part.strip() for part in parts]
    if len(extents) > 3 or not all(extents):
        raise UsageError(f"--{option} {text!r} is no x, y and z", hint=f'As in --{option} "n / 32, n / 32".')
    return extents


def _sizes(words: Iterable[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for word in words:
        size = _SIZE.fullmatch(word)
        if not size or size[1] in sizes:
            why = "is given twice" if size else "is no size"
            raise UsageError(f"--size {word!r} {why}", hint="As in --size n=1048576.")
        sizes[size[1]] = int(size[2])
    return sizes


def _shell_words(option: str, text: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(text))
    except ValueError as error:
        raise UsageError(f"{option} {text!r}: {error}", hint="Quote it as in a shell.") from error
