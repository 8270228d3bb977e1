"""Constructed sequences of launches, in the way that frameworks launch them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import chain

from ncuview.records.profile import Frame
from ncuview.records.program import Call, KernelTrace, ProgramLaunch

MB = 1_000_000.0
NAN = float("nan")
ATEN = "void at::native::vectorized_elementwise_kernel<(int)4, at::native::{}<float>>(int)"
KERNELS = {
    "mm": "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT",
    "sgemm": "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x128_8x4_nn_align1>(T1::Params)",
    "softmax": "void <unnamed>::softmax_warp_forward<float, float, float, (int)11>(T2 *, const T1 *)",
    "mean": "void at::native::reduce_kernel<(int)512, (int)1, at::native::MeanOps<float>>(T3)",
    "to": "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda()>()",
    "contiguous": "void at::native::elementwise_kernel<(int)128, (int)4, void at::native::gpu_kernel_impl_nocast<"
    "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)>>(int)",
    "gather": "void at::native::_scatter_gather_elementwise_kernel<(int)128, (int)8>(int)",
    "index_select": "void at::native::vectorized_gather_kernel<(int)16, long>(char *, char *)",
    "scatter_add_": "void at::native::_scatter_gather_elementwise_kernel<(int)128, (int)8>(int)",
    "embedding_bag": "void at::native::EmbeddingBag_updateOutputKernel_sum_mean<float, long>(const T2 *)",
    "cat": "void at::native::<unnamed>::CatArrayBatchedCopy_vectorized<at::native::OpaqueType<2>>(char *)",
    "sort": "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<Policy>(T1)",
    "arange": "void <unnamed>::elementwise_kernel_with_index<int, at::native::arange_cuda_out()>(T1)",
    "conv2d": "sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc_tilesize256x128x64",
    "layout": "void cudnn::engines_precompiled::nchwToNhwcKernel<__nv_bfloat16, __nv_bfloat16, float>(T1)",
    "scaled_dot_product_attention": "pytorch_flash::flash_fwd_splitkv_kernel<Traits>(T1)",
    "fused_adam": "void at::native::multi_tensor_apply_kernel<FusedAdamMathFunctor<float>>()",
}
"""Operator -> the kernel that it launches; others launch an elementwise kernel."""


def launch(
    operator: str,
    read: float,
    written: float,
    *,
    line: int = 10,
    function: str = "step",
    us: float | None = None,
    kernel: str = "",
    grid: int = 4096,
    fma: float = 2.0,
    tensor: float = 0.0,
    backward: str = "",
    library: str = "",
    owner: str = "torch",
    callers: tuple[Frame, ...] = (),
) -> ProgramLaunch:
    """A launch that moves these MB, at 4 MB a us unless its time is given."""
    name = kernel or KERNELS.get(operator, ATEN.format(f"{operator}_functor"))
    nanoseconds = 1000 * (us if us is not None else max(2.0, (read + written) / 4))
    file = "" if backward else "train.py"
    call = Call(file, 0 if backward else line, "" if backward else function, operator, backward, library, callers)
    return ProgramLaunch(
        name.removeprefix("void ").replace("<unnamed>::", "").partition("<")[0].split("::")[-1],
        name,
        (grid, 1, 1),
        (128, 1, 1),
        nanoseconds,
        read * MB,
        written * MB,
        fma,
        tensor,
        "framework",
        owner,
        call,
    )


def of_cpp(operator: str, kernel: str, *, us: float = 5.0, line: int = 39) -> ProgramLaunch:
    """A small launch of a program in C++, by a function of a library or by itself."""
    made = launch(operator, 0.1, 0.1, us=us, kernel=KERNELS.get(kernel, kernel), owner="cuBLAS" if operator else "")
    return replace(made, call=Call("solver.cu", line, "solve(State&)", operator))


def traced(launches: int, *, gap_ns: float = 0.0, waits_ns: float = 0.0, copied: bool = True) -> KernelTrace:
    """A run without ncu with this time between two kernels, and waits of the host in addition, for copies or not."""
    waits = int(waits_ns)
    return KernelTrace(launches, 1_000_000, 9_000_000_000, int(gap_ns), 10 if waits else 0, waits, waits * copied, 0)


def product(read: float = 60, written: float = 30, us: float = 100, *, line: int = 50, **further: str) -> ProgramLaunch:
    """A product on tensor pipes, outside of the function under test unless it is given."""
    function = further.pop("function", "forward")
    return launch("mm", read, written, line=line, function=function, us=us, tensor=88.0, **further)  # type: ignore[arg-type]


def attention(scores: float = 500, *, function: str = "attend", mask: bool = True) -> list[ProgramLaunch]:
    """Scores written, scaled, masked, normalised and read, each in a line of its own."""
    masked = [launch("masked_fill", scores, scores, line=3, function=function)] if mask else []
    return [
        launch("mm", 60, scores, line=1, function=function, us=160, tensor=45.0),
        launch("div", scores, scores, line=2, function=function),
        *masked,
        launch("softmax", scores, scores, line=4, function=function),
        launch("mm", scores + 30, 30, line=5, function=function, us=150, tensor=48.0),
    ]


def layer_norm(size: float = 100, *, function: str = "norm") -> list[ProgramLaunch]:
    """A layer normalisation in float32 of a bfloat16 array of these MB."""
    wide, rows = 2 * size, 0.1
    steps = (
        ("to", size, wide),
        ("mean", wide, rows),
        ("sub", wide, wide),
        ("pow", wide, wide),
        ("mean", wide, rows),
        ("add", rows, rows),
        ("sqrt", rows, rows),
        ("div", wide, wide),
        ("mul", wide, wide),
        ("add", wide, wide),
        ("to", wide, size),
    )
    return [
        launch(operator, read, written, line=20 + number // 2, function=function)
        for number, (operator, read, written) in enumerate(steps)
    ]


def loss(logits: float = 500, *, function: str = "token_loss") -> list[ProgramLaunch]:
    """A cross entropy with its backward pass."""
    forward = (
        ("softmax", logits, logits, 31),
        ("add", logits, logits, 32),
        ("log", logits, logits, 32),
        ("gather", 0.3, 0.0, 33),
        ("mean", 0.1, 0.0, 34),
    )
    backward = (
        ("gather", "GatherBackward0", 0.0, logits),
        ("log", "LogBackward0", 2 * logits, logits),
        ("softmax", "SoftmaxBackward0", 2 * logits, logits),
        ("softmax", "SoftmaxBackward0", 3 * logits, logits),
    )
    return [
        *(launch(word, read, written, line=line, function=function) for word, read, written, line in forward),
        *(launch(word, read, written, backward=node) for word, node, read, written in backward),
    ]


def adam(tensors: int = 4, size: float = 60, *, library: str = "", function: str = "update") -> list[ProgramLaunch]:
    """An Adam in eleven launches for each parameter."""
    steps = (("mul", 1), ("mul", 1), ("add", 2), ("copy_", 1), ("mul", 1), ("mul", 2), ("add", 2), ("copy_", 1))
    ends = (("sqrt", 1), ("add", 1), ("div", 2), ("mul", 1), ("sub_", 2))
    one = [
        launch(word, reads * size, size, line=60 + number // 3, function=function, library=library)
        for number, (word, reads) in enumerate((*steps, *ends))
    ]
    return one * tensors


def backward_products(count: int = 4, us: float = 170) -> list[ProgramLaunch]:
    """The products of a backward pass."""
    return [launch("mm", 150, 30, us=us, tensor=90.0, backward="MmBackward0")] * count


def rounds(count: int, *each: ProgramLaunch) -> list[ProgramLaunch]:
    """The launches again and again."""
    return list(chain.from_iterable([each] * count))


def streaming(kernels: Iterable[str], *, owner: str, size: float = 130, lines: int = 5) -> list[ProgramLaunch]:
    """Kernels of the user that read and write an array each."""
    return [
        launch("", size, size, kernel=kernel, line=10 + number % lines, owner=owner)
        for number, kernel in enumerate(kernels)
    ]
