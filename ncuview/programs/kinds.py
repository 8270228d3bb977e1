"""``kind_of``: what a launch does, from the name of its kernel and the operator that was called."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from ncuview.records.program import Call, Framework, ProgramLaunch

Kind = Literal[
    "attention",
    "optimizer",
    "convolution",
    "product",
    "layout",
    "sort",
    "softmax",
    "norm",
    "scatter",
    "gather",
    "cat",
    "cast",
    "copy",
    "create",
    "compiled",
    "reduction",
    "elementwise",
    "other",
]

_KERNELS: tuple[tuple[Kind, str], ...] = (
    ("attention", r"flash|fmha|sdpa|[Aa]ttention"),
    ("optimizer", r"multi_tensor_apply|Fused(?:Adam|Sgd|Adagrad)"),
    ("layout", r"nchwToNhwc|nhwcToNchw|nchw2nhwc|nhwc2nchw|nchw(?:To|2)\w+Kernel|convertTensor"),
    ("convolution", r"fprop|dgrad|wgrad|winograd|(?:^|_|::)[Cc]onv(?:olve|olution|2d|3d|1d)|implicit_convolve"),
    ("softmax", r"[Ss]oft[Mm]ax"),
    ("compiled", r"triton_(?:poi|red|per|for|tem)_"),
    ("product", r"nvjet|gemm|gemv|gemmSN|splitKreduce|cutlass|wgmma|_xmma_|(?:^|_)(?:mm|bmm|dot)(?:_|$)"),
    ("sort", r"[Ss]ort"),
    ("elementwise", r"batch_norm_(?:transform|calc_invstd)"),  # with statistics that are known
    ("norm", r"(?:layer|batch|group|rms|instance)_?norm|(?:Layer|Batch|Group|RMS|Rms)Norm|GammaBeta"),
    ("cat", r"CatArray|(?<!input_)concat|cupy_concatenate"),
    ("create", r"FillFunctor|arange|linspace|elementwise_kernel_with_index|cupy_fill|eye|tril|triu"),
    ("cast", r"float16_copy_kernel|unrolled_elementwise_kernel<.*direct_copy_kernel|(?:loop|wrapped)_convert"),
    ("copy", r"direct_copy_kernel|loop_transpose|input_transpose|cupy_copy__"),
    ("scatter", r"scatter(?!_gather)|index_add|index_put|indexing_backward|indexFuncLarge|indexAdd"),
    ("gather", r"vectorized_gather|index_elementwise|index_?[Ss]elect|[Ee]mbedding|cupy_take|_gather_"),
    ("reduction", r"reduce_kernel|[Rr]educe|cupy_(?:sum|mean|prod|amax|amin|max|min|var|std|nansum|any|all)\b"),
    ("elementwise", r"elementwise|^cupy_\w+__|_fusion|^wrapped_|fusion_\d|^loop_|^fused_"),
)
_ANY_KERNEL = tuple((kind, re.compile(pattern)) for kind, pattern in _KERNELS)
_SCATTERS = ("scatter", "index_add", "index_put", "segment_reduce")
_CASTS = re.compile(r"^cupy_copy__(\w+?)_(\w+)$")


def kind_of(launch: ProgramLaunch) -> Kind:
    """What a launch does."""
    return _kind(launch.kernel, launch.demangled, launch.call.operator if launch.call else "")


@cache
def _kind(kernel: str, demangled: str, operator: str) -> Kind:
    name = demangled or kernel
    if "_scatter_gather_" in name:  # one kernel does both
        return "scatter" if operator.startswith(_SCATTERS) else "gather"
    types = _CASTS.match(kernel)
    if types and types[1] != types[2]:
        return "cast"
    return next((kind for kind, pattern in _ANY_KERNEL if pattern.search(name)), "other")


def framework_of(launch: ProgramLaunch) -> Framework:
    """Which framework's terms a change at this launch is given in."""
    name, owner = launch.kernel, f"{launch.owner_kind} {launch.owner}".lower()
    if launch.call and _is_of_cuda(launch.call) and "torch" not in owner:
        return "cuda"
    if launch.call and (launch.call.operator or launch.call.backward) and "::" in launch.demangled:
        return "pytorch"
    words: tuple[tuple[Framework, tuple[str, ...]], ...] = (
        ("numba", ("numba",)),
        ("triton", ("triton",)),
        ("cupy", ("cupy",)),
        ("jax", ("jax", "xla")),
    )
    if name.startswith("cupy_"):
        return "cupy"
    return next((framework for framework, known in words if any(word in owner for word in known)), "pytorch")


def _is_of_cuda(call: Call) -> bool:
    """Whether a program without Python makes a call by itself or to a library of CUDA, not to LibTorch."""
    python = not call.file or call.file.endswith(".py") or call.file.startswith("<")
    return not python and not call.backward and (not call.operator or call.operator.startswith("cu"))
