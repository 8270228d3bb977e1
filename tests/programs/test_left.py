"""What is left of a program after a change, on constructed sequences: bytes and launches that no change takes away."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncuview.programs.advise import advise
from ncuview.programs.launches import Program
from ncuview.records.program import ProgramLaunch
from tests.programs.sequences import attention, backward_products, launch, layer_norm, loss, product, rounds, streaming

LAYER = [product(), launch("gelu", 60, 60, line=51, function="forward"), product(us=90)]


def of_xla(*kernels: tuple[str, float, float, float]) -> list[ProgramLaunch]:
    """Kernels of a jitted function: name, MB read and written, and microseconds."""
    return [launch("", read, written, kernel=kernel, us=us, owner="xla") for kernel, read, written, us in kernels]


@pytest.mark.parametrize(
    ("between", "found"),
    [("loop_exponential_fusion", []), ("input_reduce_fusion", ["attention"]), ("fusion_15", ["attention"])],
)
def test_scores_without_a_reduction_are_no_attention(between: str, found: list[str]) -> None:
    """A Gaussian kernel is a matrix between two products, too, but nothing normalises its rows."""
    launches = of_xla(("nvjet_a", 70, 510, 240), (between, 510, 510, 250), ("gemm_fusion_dot_1", 510, 2, 120))
    assert [each.change for each in advise(launches)] == found


def norm_of_rows(elements: float) -> list[ProgramLaunch]:
    """A layer normalisation by hand, in float32, whose rows have so many elements."""
    rows = 200 / elements
    return [
        replace(each, bytes_read=rows * 1e6, bytes_written=rows * 1e6) if each.bytes_read < 1e6 else each
        for each in layer_norm()[1:-1]
    ]


def test_short_rows_leave_a_norm_of_pytorch_no_gain() -> None:
    """A block of 128 threads has a row: with 64 elements it is an eighth as fast, and a fused chain is better."""
    long, short = (advise(rounds(3, *norm_of_rows(elements), *LAYER))[0] for elements in (2048, 64))
    assert (long.change, short.change) == ("normalization", "fuse")


def test_a_norm_of_rows_of_a_half_block_takes_twice_as_long() -> None:
    """Forward, at the bandwidth of the chain: 200 MB in and out at 4 MB a us, times two."""
    whole, half = (advise(rounds(3, *norm_of_rows(elements), *LAYER))[0] for elements in (512, 256))
    assert whole.saved_ns.high - half.saved_ns.high == pytest.approx(3 * (200 + 200) / 4 * 1000)


def test_the_softmax_of_a_loss_stays() -> None:
    """The operator makes the same passes for its softmax, forward and backward, and fills an array of 500 MB."""
    passes = loss()
    softmax = [each for each in passes if "softmax" in each.demangled.lower()]
    kept = [softmax[0], softmax[-1]]
    whole = [launch("softmax", 1000, 500, backward="SoftmaxBackward0", kernel=launch("mul", 1, 1).demangled)]
    launches = [*LAYER, *passes[:7], *whole, passes[-1], *backward_products()]
    finding = advise(launches)[0]
    assert finding.change == "loss"
    time = sum(launches[number].duration_ns for number in finding.launches)
    fill = 500 / 4 * 1000
    assert finding.saved_ns.best == pytest.approx(time - sum(each.duration_ns for each in kept) - fill)


def test_a_cast_of_the_logits_is_no_part_of_the_loss() -> None:
    cast = launch("to", 250, 500, line=30, function="token_loss")
    back = launch("to_copy", 500, 250, backward="ToCopyBackward0", kernel=cast.demangled)
    (with_casts, without) = (
        next(each for each in advise(launches) if each.change == "loss")
        for launches in (
            [*LAYER, cast, *loss(), back, *backward_products()],
            [*LAYER, *loss(), *backward_products()],
        )
    )
    assert with_casts.saved_ns == without.saved_ns


def test_a_chain_goes_on_with_what_a_sum_wrote() -> None:
    """Products of vectors of 8 are summed up: what follows reads an eighth, which the sum wrote."""
    steps = (("mul", 300, 900), ("sum", 900, 110), ("mul", 110, 110), ("softmax", 110, 110))
    ends = (("mul", 300, 900), ("sum", 900, 150))
    chain = [
        launch(word, read, written, line=10 + number, function="attend")
        for number, (word, read, written) in enumerate((*steps, *ends))
    ]
    (finding,) = advise(chain)
    assert finding.change == "fuse"
    assert finding.launches == (0, 1, 2, 3, 4, 5)


def bound_by_starts(count: int) -> list[ProgramLaunch]:
    """Kernels of CuPy on arrays of 520 MB, the first of which reads bytes; all take as long as their blocks start."""
    kernels = [f"cupy_{word}__float32_float32" for word in ("log", "negative", "exp", "sin")[:count]]
    first, *others = (
        replace(each, grid=(1 << 20, 1, 1), duration_ns=636_000.0)
        for each in streaming(kernels, owner="cupy", size=520, lines=count)
    )
    return [replace(first, bytes_read=130e6), *others]


def test_a_fused_kernel_of_cupy_starts_as_many_threads() -> None:
    small = launch("", 8, 8, kernel="cupy_subtract__float32_float32_float32", line=11, us=7, owner="cupy", grid=8192)
    each = bound_by_starts(4)
    (finding,) = advise([*each[:2], small, *each[2:]])
    assert finding.change == "fuse"
    assert finding.gain.high == pytest.approx((4 * 636 + 7) / 636)


def test_a_reduction_of_cub_stays() -> None:
    reduction = launch("", 520, 1, kernel="DeviceFixedSizeSegmentedReduceKernel", line=15, us=229, owner="CUB")
    launches = [*bound_by_starts(4), reduction]
    (finding,) = advise(launches)
    assert finding.launches == (0, 1, 2, 3)


def test_what_reads_widened_copies_alone_reads_half() -> None:
    """A kernel of the user reads two copies in float32: 270 MB of bfloat16 each, and then twice as much."""
    wide = [launch("to", 270, 540, line=52), launch("to", 270, 540, line=53)]
    gate = launch("", 1080, 540, line=56, kernel="gate_kernel", us=400, owner="triton")
    other = launch("", 1500, 540, line=56, kernel="gate_kernel", us=400, owner="triton")
    (finding,) = advise(rounds(4, *wide, gate))
    casts = sum(each.duration_ns for each in wide)
    assert finding.change == "fewer_conversions"
    assert finding.saved_ns.best == pytest.approx(4 * (casts + 200_000))
    (finding,) = advise(rounds(4, *wide, other))
    assert finding.saved_ns.best == pytest.approx(4 * casts)


BATCH_NORM = "void at::native::batch_norm_transform_input_channels_last_kernel<c10::BFloat16, float, c10::BFloat16>(T1)"


def normalised(*, residual: bool, us: float = 50, layout: str = "") -> list[ProgramLaunch]:
    """A convolution with a batch normalisation of known statistics, perhaps a residual, and a ReLU in NHWC."""
    residuals = [launch("add_", 200, 100, line=31)] if residual else []
    around = [launch("conv2d", 100, 100, kernel=layout, line=31, us=50)] if layout else []
    return [
        *around,
        launch("conv2d", 100, 100, line=31, us=60, tensor=60.0),
        launch("batch_norm", 100, 100, line=31, kernel=BATCH_NORM, us=us),
        *residuals,
        launch("relu_", 100, 100, line=31),
    ]


def test_a_batch_norm_of_known_statistics_is_fused_with_what_follows() -> None:
    """Where a function has a chain of three launches, its pairs are fused as well; pairs alone are no chain."""
    (finding,) = advise(normalised(residual=True) + normalised(residual=False))
    assert finding.change == "fuse"
    assert finding.launches == (1, 2, 3, 5, 6)
    assert not advise(normalised(residual=False) * 2)


def test_batch_norms_gain_with_the_layout() -> None:
    """In NCHW a normalisation takes four times what its bytes take; how much of it goes away is not known."""
    layout = "void cudnn::nchwToNhwcKernel<float>(T1)"
    fast, slow = (
        next(
            each
            for each in advise(normalised(residual=False, us=us, layout=layout) * 2)
            if each.change == "memory_format"
        )
        for us in (50, 200)
    )
    assert slow.saved_ns.low == fast.saved_ns.low
    assert slow.saved_ns.high == pytest.approx(fast.saved_ns.high + 2 * 150_000)
    assert slow.saved_ns.best == pytest.approx(fast.saved_ns.best + 2 * 100_000)


def test_counters_of_one_launch_are_not_those_of_smaller_arrays() -> None:
    """One launch of a kernel and grid is counted: another one, on a quarter of the bytes, is no faster than memory."""
    large, small = (launch("relu_", 200, 200, us=us) for us in (100, 25))
    program = Program([large, small, large])
    assert program.bandwidth == pytest.approx(4e6 / 1e3)
    assert program.read.tolist() == [200e6, 50e6, 200e6]
    assert Program([large, replace(small, bytes_read=199e6)]).read.tolist() == [200e6, 199e6]


def test_times_of_one_size_vary() -> None:
    program = Program([launch("relu_", 200, 200, us=us) for us in (100, 110, 92)])
    assert program.read.tolist() == [200e6] * 3
    short = Program([launch("relu_", 0.1, 0.1, us=us) for us in (2, 3)])
    assert short.read.tolist() == [0.1e6] * 2, "a launch of few microseconds does not measure its bytes"


def graph_of(edges: int, *, line: int = 15) -> list[ProgramLaunch]:
    """A graph brought into order: sorted, without repeated edges, of which so many blocks are left."""
    unique = "void at_cuda_detail::cub::DeviceUniqueByKeySweepKernel<Policy>(T1)"
    return [
        launch("cat", 67, 67, line=line, function="normalised", library="torch_geometric/utils/loop.py:loops"),
        *[launch("coalesce", 67, 67, line=17, function="normalised", kernel="DeviceMergeSortMergeKernel")] * 4,
        launch("coalesce", 67, 67, line=17, function="normalised", kernel=unique),
        launch("coalesce", 90, 14, line=17, function="normalised", us=600, kernel="values", grid=edges),
    ]


def test_equal_numbers_of_unique_values_are_equal_values() -> None:
    layers = [[*graph_of(1049947), *LAYER] for _ in range(4)]
    (finding,) = advise([each for layer in layers for each in layer])
    assert finding.change == "repeated_work"
    once = sum(each.duration_ns for each in graph_of(1049947))
    assert finding.saved_ns.best == pytest.approx(3 * once), "with the launches of a library before the sort"
    assert finding.saved_ns.high == pytest.approx(4 * once), "where the graph is that of the step before"


def test_other_numbers_of_unique_values_are_other_values() -> None:
    layers = [[*graph_of(1049947 + number), *LAYER] for number in range(4)]
    assert "repeated_work" not in {each.change for each in advise([each for layer in layers for each in layer])}
    sorts = [each for each in graph_of(1049947) if "Unique" not in each.demangled]
    assert "repeated_work" not in {each.change for each in advise([*sorts, *LAYER] * 4)}


def gradients_of_attention(scores: float = 500) -> list[ProgramLaunch]:
    """The backward pass of an attention: gradients of weights and values, of the softmax, of queries and keys."""
    node = {"backward": "BmmBackward0", "tensor": 45.0}
    return [
        launch("mm", scores, 30, us=150, **node),  # type: ignore[arg-type]
        launch("mm", 60, scores, us=150, **node),  # type: ignore[arg-type]
        launch("softmax", 2 * scores, scores, backward="SoftmaxBackward0"),
        launch("div", scores, scores, backward="DivBackward0"),
        launch("mm", scores, 30, us=150, **node),  # type: ignore[arg-type]
        launch("mm", scores, 30, us=150, **node),  # type: ignore[arg-type]
    ]


@pytest.mark.parametrize("layers", [2, 1])
def test_an_attention_counts_its_backward_pass(layers: int) -> None:
    """As many backward passes as attentions: others are of something else, such as a loss between two layers."""
    forward = rounds(2, *attention(mask=False), *LAYER)
    launches = [*forward, *rounds(layers, *gradients_of_attention(), *backward_products(2))]
    alone, finding = advise(forward)[0], advise(launches)[0]
    assert finding.change == "attention"
    back = rounds(2, *gradients_of_attention()) if layers == 2 else []
    assert len(finding.launches) == len(alone.launches) + len(back)
    kept = 5 / 4 * sum(each.duration_ns for each in back if each.call and each.call.operator == "mm")
    whole = sum(each.duration_ns for each in back)
    assert finding.saved_ns.low == pytest.approx(alone.saved_ns.low + whole - kept)
