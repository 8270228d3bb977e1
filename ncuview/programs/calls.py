"""``call_of``: the call in the user's program that led to a launch, from the launch's call stack."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import PurePath

from ncuview.records.profile import CallStack, Frame
from ncuview.records.program import Call

_PACKAGES = re.compile(r"/(?:site|dist)-packages/")
_NOT_THE_USERS = re.compile(
    r"""^$ | ^<(?!ipython-input)                             # frozen modules and <string>, but not cells
    | /(?:site|dist)-packages/ | (?:^|/)lib/python3[.\d]*/   # installed packages and the standard library
    | (?:^|/)torch/(?:_|(?:nn|optim|utils|autograd|cuda|amp|fx|func|distributed|jit|backends|sparse|export|compiler)/
        |(?:__init__|functional|overrides|library)\.py)     # PyTorch from a checkout
    | /torchinductor_[^/]*/ | /torch_compile_debug/ | /\.triton/ | /\.cupy/ | /__pycache__/   # what compilers wrote
    | (?:^|/)(?:torch\w*|jax\w*|cupy\w*|triton|numba)\.[^/]+\.py$                             # generated modules
    """,
    re.VERBOSE,
)
_WRAPPER = re.compile(
    r"^torch/(?!optim/adam|optim/\w+\.py)|^(?:jax|jaxlib|cupy|cupyx|triton|numba|numba_cuda)/|/hooks?\.py$"
)
"""Library files that only pass on to an operator."""
_OPERATOR = re.compile(r"at::_ops::(\w+)::(?:call|redispatch)\b")
_OVERLOAD = re.compile(
    r"_(?:Tensor|Scalar|Tensor_\w+|Scalar_\w+|int|dtype|dtype_layout|device|dim|dim_\w+|dimname|self|other|start"
    r"|start_step|vec|out|correction|stable|values_stable|src|value|default|IntList|using_ints|ScalarOpt_dim)$"
)
_NODE = re.compile(
    r"torch::autograd::(?:generated::)?(\w*?Backward\d*)::apply\(|torch::autograd::(AccumulateGrad)::apply"
)
_ENGINE = "torch::autograd::Engine::"
_RANGE = re.compile(r"aten::(\w+)")
_EVALUATED = re.compile(r"autograd::engine::evaluate_function: (.+?)(?:, |$)")
_LIBRARY_FUNCTION = re.compile(r"^((?:cublas|cublasLt|cufft|cusolver|cusparse|cudnn)[A-Z]\w*)")
_NATIVE_LIBRARY = re.compile(r"\.so(?:$|\.\d)|\.dylib$|\.dll$|/python[\d.]*$")
_RUNTIME = re.compile(
    r"^(?:$|__device_stub|cuda[A-Z]|cudart|__cudart|libcudart_static_|(?:thrust|cub|cuda)::|_start$|__libc)"
)
"""Of qualified names; the functions of a static runtime have names such as ``libcudart_static_da0dce49aa58``."""
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def call_of(
    stack: CallStack, mine: Callable[[str], bool] | None = None, ranges: Sequence[str] = (), kernel: str = ""
) -> Call | None:
    """The user's call that led to a launch; None where the stack shows neither the user's code nor an operator.

    Args:
        stack: The calls on the host, the innermost first.
        mine: Whether a Python file is the user's; by default all but installed packages and what compilers wrote.
        ranges: The NVTX ranges of the launch, the outermost first. PyTorch's name operator and autograd node, which
            native frames name as well.
        kernel: The name of the kernel, which the function that nvcc writes to launch it bears as well.
    """
    mine = is_users if mine is None else mine
    user = next((number for number, frame in enumerate(stack.python) if mine(frame.file)), None)
    node = _node(stack.native) or _first(_EVALUATED, ranges) or _engine(stack.native)
    operator = _operator_of(node) or _aten(stack.native) or _first(_RANGE, ranges) or _exported(stack.native)
    if user is not None:
        frame = stack.python[user]
        callers = tuple(outer for outer in stack.python[user + 1 :] if mine(outer.file))
        return Call(frame.file, frame.line, frame.function, operator, node, _library(stack.python[:user]), callers)
    caller = None if stack.python else _native_caller(stack.native, kernel)
    if caller:
        return Call(caller.source or caller.file, caller.line, caller.function, operator, node)
    return Call("", 0, "", operator, node) if operator or node else None


@cache
def is_users(file: str) -> bool:
    """Whether a Python file is neither of an installed package nor written by a compiler."""
    return not _NOT_THE_USERS.search(file.replace("\\", "/"))


def _library(inner: Iterable[Frame]) -> str:
    """The innermost function of a package that does more than pass on to an operator."""
    for frame in inner:
        below = _PACKAGES.split(frame.file.replace("\\", "/"))
        if len(below) > 1 and not _WRAPPER.search(below[-1]):
            return f"{below[-1]}:{frame.function}"
    return ""


def _aten(native: Iterable[Frame]) -> str:
    """PyTorch's operator that was called: the outermost, for it calls the others."""
    found = [match[1] for frame in native if (match := _OPERATOR.search(frame.function))]
    return _OVERLOAD.sub("", found[-1]) if found else ""


def _first(pattern: re.Pattern[str], ranges: Iterable[str]) -> str:
    """What the outermost of the ranges names that fit a pattern."""
    return next((match[1] for name in ranges if (match := pattern.match(name))), "")


def _exported(native: Iterable[Frame]) -> str:
    """The function of a CUDA library that was called."""
    found = [match[1] for frame in native if (match := _LIBRARY_FUNCTION.match(frame.function))]
    return found[-1] if found else ""


def _node(native: Iterable[Frame]) -> str:
    """The autograd node whose gradient is computed: the outermost."""
    nodes = [match[1] or match[2] for frame in native if (match := _NODE.search(frame.function))]
    return nodes[-1] if nodes else ""


def _engine(native: Iterable[Frame]) -> str:
    """Autograd's engine, which adds up gradients between two nodes."""
    return "Engine" if any(_ENGINE in frame.function for frame in native) else ""


def _operator_of(node: str) -> str:
    """``SoftmaxBackward0`` is of ``softmax``."""
    name, found, _ = node.partition("Backward")
    return _CAMEL.sub("_", name).lower() if found else ""


def _native_caller(native: Iterable[Frame], kernel: str) -> Frame | None:
    """The innermost function of the user's own program, but for the stub of the kernel.

    A library is the user's where the lines of its source are known: those of CUDA and the frameworks have none.
    """
    own = (frame for frame in native if frame.source or (frame.file and not _is_library(frame.file)))
    named = ((frame, qualified_name(frame.function)) for frame in own)
    callers = (frame for frame, name in named if not _RUNTIME.search(name) and name.rpartition("::")[2] != kernel)
    return next(callers, None)


def _is_library(file: str) -> bool:
    return bool(_NATIVE_LIBRARY.search(PurePath(file).as_posix()))


def qualified_name(function: str) -> str:
    """``app::scale`` of ``void app::scale<float>(float*)``; of a lambda the function that it stands in."""
    depth, name = 0, ""
    for sign in function.replace("(anonymous namespace)::", ""):
        if sign == "(" and not depth:
            break
        depth += (sign == "<") - (sign == ">")
        name += sign if not depth and sign != ">" else ""
    return name.rpartition(" ")[2]
