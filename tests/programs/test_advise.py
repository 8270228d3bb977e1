"""Findings on constructed programs: the change, its calls, its gain, and silence where nothing is to be gained."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from ncuview.programs.advise import BETWEEN, DETECTORS, LEAST, advise
from ncuview.programs.launches import Program
from ncuview.programs.operators import real_transforms
from ncuview.programs.repeats import loops
from ncuview.records.profile import Frame
from ncuview.records.program import Estimate, KernelTrace, ProgramFinding, ProgramGpu, ProgramLaunch
from tests.programs.sequences import (
    NAN,
    adam,
    attention,
    backward_products,
    launch,
    layer_norm,
    loss,
    of_cpp,
    product,
    rounds,
    streaming,
    traced,
)

LAYER = [product(), launch("gelu", 60, 60, line=51, function="forward"), product(us=90)]
HEAT = ["subtract", "multiply", "sin", "cos", "multiply", "add"]
MOMENTUM = "torch/optim/sgd.py:_single_tensor_sgd"
CUPY = streaming([f"cupy_{word}__float32_float32_float32" for word in HEAT], owner="cupy", lines=6)
POSITION_BIAS = [
    launch("arange", 0.0, 0.0, line=21, function="bias"),
    launch("sub", 1, 8, line=22, function="bias"),
    launch("embedding", 8, 130, line=26, function="bias", kernel="vectorized_gather_kernel", us=600),
    launch("contiguous", 130, 130, line=27, function="bias", us=500),
]
MESSAGES = [
    launch("index_select", 470, 420, line=37, us=7800),
    launch("mul", 470, 400, line=37, us=310),
    launch("scatter_add_", 690, 190, line=37, us=430),
]
EXPERT = [
    launch("mm", 10, 2, line=8, us=20, tensor=40.0),
    launch("gelu", 2, 2, line=9, us=3),
    launch("mm", 10, 2, line=10, us=20, tensor=40.0),
]
APPEND = [
    launch("cat", 270, 270, line=70),
    launch("cat", 270, 270, line=71),
    launch("scaled_dot_product_attention", 540, 1, line=72, tensor=10.0),
]
TINY = launch("mm", 0.1, 0.1, us=2, tensor=3.0)
XLA_SCORES = [
    launch("", 67, 60, kernel="nvjet_sm90_tst_128x160_64x5_1x2_h_bz_NNT", us=180, owner="xla", tensor=80.0),
    launch("", 134, 2147, kernel="nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", us=630, owner="xla", tensor=40.0),
    launch("", 2147, 2147, kernel="fusion_15", us=3500, owner="xla"),
    launch("", 2200, 67, kernel="nvjet_sm90_tst_128x128_64x6_2x1_v_bz_TNT", us=540, owner="xla", tensor=40.0),
]

RECURRENCE = [
    *rounds(
        24,
        launch("mm", 2, 1, line=5, us=8, tensor=5.0),
        *[launch(word, 0.2, 0.2, line=6 + n, us=2) for n, word in enumerate(["add", "sigmoid", "mul", "tanh", "add"])],
    ),
    launch("cat", 5, 5, line=20),
]

COMPLEX = [
    launch("", read, written, line=line, kernel=kernel, us=us, owner="cuFFT" if "fft" in kernel else "cupy")
    for kernel, read, written, line, us in (
        ("cupy_copy__float32_complex64", 17, 34, 42, 22),
        ("regular_fft", 34, 34, 42, 30),
        ("vector_fft", 34, 34, 42, 22),
        ("cupy_multiply__complex64_complex64_complex64", 67, 34, 43, 24),
        ("regular_fft", 34, 34, 44, 30),
        ("vector_fft", 34, 34, 44, 22),
        ("cupy_true_divide__complex64_complex_complex64", 34, 34, 44, 22),
    )
]

REAL = launch("", 17, 17, line=51, function="update", kernel="cupy_add__float32_float_float32", owner="cupy")

_CUPY_SOFTMAX = (
    ("multiply__float32_float_float32", 500),
    ("amax", 1),
    ("subtract__float32_float32_float32", 500),
    ("exp__float32_float32", 500),
    ("sum", 1),
    ("true_divide__float32_float32_float32", 500),
)
HAND_SOFTMAX = [
    launch("", 60, 500, line=1, kernel="cublas_gemm_nn", us=160, owner="cupy", tensor=45.0),
    *[
        launch("", 500, written, line=2 + number, kernel=f"cupy_{word}", owner="cupy")
        for number, (word, written) in enumerate(_CUPY_SOFTMAX)
    ],
    launch("", 530, 30, line=9, kernel="cublas_gemm_nn", us=150, owner="cupy", tensor=48.0),
]

ADVISED: dict[str, tuple[list[ProgramLaunch], str, int]] = {
    "cupy_chain": (CUPY * 3, "PROG001", 10),
    "numba_chain": (
        streaming(["subtract_black", "apply_gain", "vignette", "tone_curve", "clip"], owner="numba"),
        "PROG001",
        10,
    ),
    "weights_cast_in_each_step": (
        rounds(4, launch("to", 270, 135, line=45), launch("to", 270, 135, line=46), product()),
        "PROG002",
        45,
    ),
    "autocast_in_inference": (
        rounds(4, launch("linear", 270, 135, line=46, kernel="bfloat16_copy_kernel_cuda"), product(line=46)),
        "PROG002",
        46,
    ),
    "layouts_around_convolutions": (
        rounds(
            4,
            launch("conv2d", 50, 50, kernel="void cudnn::nchwToNhwcKernel<float>(T1)", line=14, us=40),
            launch("conv2d", 50, 50, line=14, us=220, tensor=86.0),
            launch("conv2d", 50, 50, kernel="void cudnn::nhwcToNchwKernel<float>(T1)", line=14, us=45),
        ),
        "PROG003",
        14,
    ),
    "attention": (rounds(2, *attention(), *LAYER), "PROG004", 4),
    "attention_without_mask": (rounds(2, *attention(mask=False), *LAYER), "PROG004", 4),
    "attention_of_xla": (XLA_SCORES, "PROG004", 10),
    "layer_norm": (rounds(3, *layer_norm(), *LAYER), "PROG005", 21),
    "loss": ([*LAYER, *loss(), *backward_products()], "PROG006", 31),
    "adam_by_hand": ([*LAYER, *backward_products(), *adam()], "PROG007", 60),
    "adam_of_a_loop": (
        [*LAYER, *backward_products(), *adam(library="torch/optim/adam.py:_single_tensor_adam")],
        "PROG007",
        60,
    ),
    "momentum_of_a_loop": (
        [
            *LAYER,
            *rounds(
                8,
                *[
                    launch(word, reads * 100, 100, line=60, kernel=f"at::native::{word}Functor", library=MOMENTUM)
                    for word, reads in (("mul_", 1), ("add_", 2), ("add_", 2))
                ],
            ),
        ],
        "PROG007",
        60,
    ),
    "float32_products": (
        [launch("linear", 60, 30, kernel="cutlass_80_simt_sgemm_128x128", line=25, us=400, fma=65.0)] * 3,
        "PROG008",
        25,
    ),
    "triton_product": (
        [launch("", 200, 30, kernel="dense_kernel", line=43, us=800, fma=64.0, owner="triton")] * 3,
        "PROG008",
        43,
    ),
    "loop_over_experts": ([*rounds(32, *EXPERT), launch("cat", 64, 64, line=11)], "PROG009", 8),
    "loop_of_cublas": (rounds(64, of_cpp("cublasSgemm_v2", "sgemm"), of_cpp("", "gate")), "PROG009", 39),
    "bias_of_each_layer": (rounds(4, *LAYER, *POSITION_BIAS), "PROG010", 26),
    "messages": (MESSAGES * 2, "PROG012", 37),
    "messages_without_weights": ([MESSAGES[0], MESSAGES[2]] * 2, "PROG012", 37),
    "grown_cache": (rounds(6, *APPEND, product(30, 1, 15)), "PROG013", 70),
    "attention_of_cupy": (HAND_SOFTMAX, "PROG004", 7),
    "kalman_filters": (
        rounds(
            64,
            launch("", 4, 2, line=12, kernel="cutlass_80_tensorop_d884gemm", us=9, owner="cupy", tensor=40.0),
            launch("", 4, 2, line=13, kernel="cutlass_80_tensorop_d884gemm", us=9, owner="cupy", tensor=40.0),
            launch("", 4, 2, line=13, kernel="cupy_add__float64_float64_float64", us=3, owner="cupy"),
            launch("", 2, 2, line=13, kernel="cupy_copy__float64_float64", us=3, owner="cupy"),
        ),
        "PROG009",
        12,
    ),
    "ensemble_of_xla": (
        [
            *(
                launch("", 2, 1, line=40, kernel=kernel, us=6, owner="xla", tensor=20.0)
                for member in range(48)
                for kernel in ("nvjet_sm90_tst_128x64", f"loop_tanh_fusion_{member}")
            ),
            launch("", 90, 90, line=40, kernel="wrapped_concatenate", owner="xla"),
        ],
        "PROG009",
        40,
    ),
    "one_hot": (
        [
            launch("", 2, 8000, line=12, kernel="loop_compare_fusion", owner="xla"),
            *[launch("", 8100, 1, line=12, kernel="cutlass_80_s1688gemm", us=2300, owner="xla", tensor=30.0)] * 2,
        ],
        "PROG015",
        12,
    ),
    "wave_of_eager_jax": (
        [
            launch("", 17, 17, line=9 + number, kernel=kernel, owner="jax")
            for number, kernel in enumerate(("input_concatenate_fusion", "wrapped_add", "wrapped_add", "wrapped_mul"))
        ],
        "PROG001",
        10,
    ),
    "softmax_in_three_triton_kernels": (
        [
            launch("", 537, 0.1, line=11, kernel="row_max_kernel", owner="triton"),
            launch("", 537, 0.1, line=12, kernel="row_sum_kernel", owner="triton"),
            launch("", 537, 537, line=13, kernel="divide_kernel", owner="triton"),
        ],
        "PROG001",
        13,
    ),
    "real_arrays_as_complex": (
        rounds(3, *COMPLEX, REAL),
        "PROG017",
        42,
    ),
    "sort_for_few": (
        [*[launch("sort", 400, 400, line=80)] * 4, launch("slice", 1, 1, line=81), product(us=30)],
        "PROG014",
        80,
    ),
}
"""Program -> its launches, the rule that must come first, and a line that it must name."""

SILENT: dict[str, list[ProgramLaunch]] = {
    "nothing": [],
    "one_launch": [launch("mul", 500, 500)],
    "layers": LAYER * 6,
    "fused_attention": rounds(
        4, *LAYER, launch("scaled_dot_product_attention", 90, 30, line=52, function="forward", us=60, tensor=60.0)
    ),
    "fused_adam": [
        *LAYER,
        *backward_products(),
        launch("fused_adam", 240, 180, library="torch/optim/adam.py:_fused_adam"),
    ],
    "sgd_in_one_pass": [
        *LAYER,
        *backward_products(),
        *[launch("add_", 200, 100, library=MOMENTUM)] * 12,
    ],
    "sgd_without_counters": [
        *LAYER,
        *[launch("add_", NAN, NAN, us=40, library=MOMENTUM)] * 12,
    ],
    "autocast_of_weights": [
        *rounds(5, launch("linear", 67, 33, kernel="bfloat16_copy_kernel", line=25), product(us=180)),
        *rounds(
            5,
            *backward_products(1),
            launch(
                "to_copy", 33, 67, kernel="unrolled_elementwise_kernel<direct_copy_kernel", backward="ToCopyBackward0"
            ),
        ),
    ],
    "different_layers_in_a_loop": rounds(12, product(20, 5, 20), launch("gelu", 5, 5, line=51, function="forward")),
    "jitted_function": streaming(["loop_add_fusion", "loop_multiply_fusion", "loop_tanh_fusion"], owner="xla", lines=1),
    "compiled_function": streaming(
        ["triton_poi_fused_add_0", "triton_poi_fused_mul_1", "triton_red_fused_2"], owner="torch"
    ),
    "one_numba_kernel_again_and_again": streaming(["smooth"] * 6, owner="numba"),
    "product_that_waits_for_memory": [
        launch("linear", 32, 13, kernel="sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_ffma", line=37, us=47, fma=28.0)
    ]
    * 4,
    "double_products": [launch("", 4, 2, kernel="cutlass_80_simt_dgemm_64x64", us=90, fma=60.0, owner="cupy")] * 4,
    "experts_of_a_gate": [
        launch("mm", 60, 4, line=5, us=30, tensor=20.0),
        launch("softmax", 4, 4, line=6),
        launch("mm", 260, 60, line=7, us=200, tensor=60.0),
    ],
    "gradients_filled_with_zeros": rounds(
        3,
        launch("zeros_like", 0.0, 500, backward="NllLossBackward0", us=110),
        launch("mm", 700, 120, backward="MmBackward0", us=1400, tensor=93.0),
    ),
    "output_layer_of_xla": [
        launch("", 150, 260, kernel="nvjet_a", us=690, owner="xla", tensor=90.0),
        launch("", 260, 260, kernel="fusion_2", us=130, owner="xla"),
        launch("", 390, 17, kernel="nvjet_b", us=650, owner="xla", tensor=90.0),
    ],
    "images_that_are_decoded": [launch("to", 25, 74, line=31), product(us=30)],
    "messages_of_both_ends": [
        MESSAGES[0],
        launch("add", 470, 400, line=37, us=310),
        launch("scatter_add_", 690, 190, line=37, us=4300),
    ],
    "a_small_cast_before_large_norms": [
        launch("to", 1, 2, line=5),
        *rounds(6, launch("layer_norm", 60, 60, line=6, kernel="vectorized_layer_norm_kernel"), product(us=30)),
    ],
    "no_times": [launch("mul", 500, 500, us=0.0)] * 4,
    "unknown_times": [launch("mul", 500, 500, us=NAN)] * 4,
    "copies_of_heads": rounds(4, *[launch("contiguous", 34, 34, line=10, us=17)] * 3, product(us=800)),
    "small_copies": rounds(20, launch("contiguous", 0.5, 0.5, line=10, us=3), product(us=15)),
    "steps_of_time": streaming(["collide", "move", "collide", "move"] * 3, owner="numba"),
    "mask_of_activations": rounds(
        4,
        *LAYER,
        launch("arange", 0.0, 0.0, line=1, function="forward"),
        launch("mul", 400, 400, line=2, function="forward"),
        launch("gelu", 400, 400, line=3, function="forward"),
    ),
    "sort_whose_result_is_used": [
        *[launch("sort", 400, 400, line=80)] * 4,
        launch("gather", 400, 400, line=81),
        *LAYER * 8,
    ],
    "no_counters": [launch("mul", NAN, NAN, us=50), product(NAN, NAN), launch("add", NAN, NAN, us=40)],
}
"""Programs in which nothing at a call gains a tenth."""


@pytest.mark.parametrize("name", ADVISED)
def test_the_change_that_saves_most_comes_first(name: str) -> None:
    launches, code, line = ADVISED[name]
    found = advise(launches)
    assert found, "silent"
    assert found[0].code == code
    assert line in {call.line for call in found[0].calls}


@pytest.mark.parametrize("name", SILENT)
def test_no_advice_where_nothing_is_to_be_gained(name: str) -> None:
    assert advise(SILENT[name]) == ()


def test_every_rule_with_kernel_time_has_a_constructed_program() -> None:
    assert {code for _, code, _ in ADVISED.values()} | {"PROG011", "PROG016"} == DETECTORS.keys()


def check(
    launches: Sequence[ProgramLaunch], findings: Sequence[ProgramFinding], trace: KernelTrace | None = None
) -> None:
    """What holds for all findings: Amdahl, order of bounds, distinct launches, a tenth at least."""
    total = sum(each.duration_ns for each in launches)
    taken: set[int] = set()
    for finding in findings:
        own = sum(launches[number].duration_ns for number in finding.launches)
        base = Program(launches, trace).step_ns if finding.change in BETWEEN else total
        assert 0 <= finding.saved_ns.low <= finding.saved_ns.best <= finding.saved_ns.high <= base
        if finding.change not in BETWEEN:
            assert finding.saved_ns.high <= own * (1 + 1e-9)
            assert finding.gain.high <= base / max(base - own, 1e-6 * base) * (1 + 1e-6)
            assert not taken & {*finding.launches}
            taken |= {*finding.launches}
        assert finding.gain.best == pytest.approx(base / (base - finding.saved_ns.best))
        assert finding.calls
    if findings and not trace:
        assert all(finding.saved_ns.best >= LEAST * total for finding in findings)
        assert sum(finding.saved_ns.high for finding in findings) <= total * (1 + 1e-9)


@pytest.mark.parametrize("name", [*ADVISED, *SILENT])
def test_gains_never_exceed_what_amdahl_allows(name: str) -> None:
    launches = ADVISED[name][0] if name in ADVISED else SILENT[name]
    check(launches, advise(launches))


@pytest.mark.parametrize("seed", range(30))
def test_savings_of_mixed_programs_are_not_added_up(seed: int) -> None:
    chosen = random.Random(seed)
    parts = chosen.sample([program for program, _, _ in ADVISED.values()], 4)
    launches = [each for part in parts for each in part]
    if seed % 3 == 0:
        chosen.shuffle(launches)
    total = int(sum(each.duration_ns for each in launches))
    trace = traced(len(launches), gap_ns=total // len(launches), waits_ns=3 * total) if seed % 2 else None
    check(launches, advise(launches, trace), trace)


@pytest.mark.parametrize("name", ADVISED)
def test_unknown_counters_are_no_evidence_of_a_number(name: str) -> None:
    """A report of few metrics: what is found still obeys Amdahl, and nothing is NaN."""
    launches = [
        replace(each, bytes_read=NAN, bytes_written=NAN, fma_pct=NAN, tensor_pct=NAN) for each in ADVISED[name][0]
    ]
    check(launches, advise(launches))


@pytest.mark.parametrize("name", ADVISED)
def test_without_stacks_there_is_no_call_to_change(name: str) -> None:
    launches = [replace(each, call=None) for each in ADVISED[name][0]]
    assert advise(launches, traced(len(launches), waits_ns=1e12)) == ()


def test_what_is_fused_in_part_belongs_to_the_chain() -> None:
    part = launch("", 130, 130, kernel="chord", line=13, owner="cupy")
    (finding,) = advise([*CUPY[:3], part, *CUPY[3:]])
    assert finding.launches == (0, 1, 2, 3, 4, 5, 6)


@pytest.mark.parametrize("times", [1, 3])
def test_a_fused_chain_keeps_its_ends(times: int) -> None:
    """Six launches of 130 MB in and out: the first read and the last write of each iteration stay."""
    (finding,) = advise(CUPY * times)
    assert finding.gain.high == pytest.approx(6.0)
    assert finding.gain.best <= 6.0


def test_two_normalisations_in_a_row_are_two() -> None:
    one, two = (advise([*rounds(times, *layer_norm()), *LAYER])[0] for times in (1, 2))
    assert two.saved_ns.best == pytest.approx(2 * one.saved_ns.best)


def test_the_gain_of_a_conversion_counts_the_casts() -> None:
    launches = ADVISED["weights_cast_in_each_step"][0]
    casts = sum(each.duration_ns for each in launches if each.call and each.call.operator == "to")
    assert advise(launches)[0].saved_ns.low == pytest.approx(casts)


def test_a_loss_counts_its_backward_pass() -> None:
    launches = ADVISED["loss"][0]
    finding = advise(launches)[0]
    assert any((call := launches[number].call) and call.backward for number in finding.launches)
    assert all(call.line for call in finding.calls), "calls of the forward pass are named"


def test_several_layers_do_not_count_the_backward_pass_twice() -> None:
    """Each layer's normalisation is in the same function; its nodes in the backward pass are shared."""
    back = [
        launch(word, 400, 200, backward=f"{word.title()}Backward0") for word in ("mul", "div", "pow", "sub", "sqrt")
    ]
    launches = [*rounds(3, *layer_norm(), *LAYER), *back * 3]
    check(launches, advise(launches))


def test_an_attention_saves_more_where_a_mask_hides_half() -> None:
    masked = advise(ADVISED["attention"][0])[0]
    without = advise(ADVISED["attention_without_mask"][0])[0]
    assert masked.gain.high > without.gain.high


def test_small_kernels_wait_for_the_host() -> None:
    launches = [TINY] * 400
    total = sum(each.duration_ns for each in launches)
    assert advise(launches) == ()
    (finding,) = advise(launches, traced(400, gap_ns=5 * total / 400))
    assert finding.change == "launch_overhead"
    assert 3 < finding.gain.best < 6


@pytest.mark.parametrize("share", [0.0, 0.2])
def test_a_busy_gpu_has_no_launch_overhead(share: float) -> None:
    launches = [TINY] * 400
    assert advise(launches, traced(400, gap_ns=share * TINY.duration_ns)) == ()


def test_a_trace_of_another_number_of_launches_says_nothing() -> None:
    launches = [TINY] * 400
    assert advise(launches, traced(500, gap_ns=50_000)) == ()
    assert advise(launches, traced(410, gap_ns=50_000))


def test_long_gaps_with_copies_are_work_of_the_host() -> None:
    """Half a millisecond before each launch is no launch overhead."""
    (finding,) = advise([TINY] * 40, traced(40, waits_ns=40 * 500_000.0))
    assert finding.change == "host_transfer"
    assert finding.saved_ns.high == 40 * 500_000.0


def test_waits_without_copies_are_cured_by_no_other_copies() -> None:
    assert advise([TINY] * 40, traced(40, waits_ns=40 * 500_000.0, copied=False)) == ()


def test_gaps_and_waits_are_two_findings() -> None:
    total = 40 * TINY.duration_ns
    found = advise([TINY] * 40, traced(40, gap_ns=10 * TINY.duration_ns, waits_ns=20 * total))
    assert [finding.change for finding in found] == ["host_transfer", "launch_overhead"]


def test_kernel_time_that_the_host_hides_is_no_advice() -> None:
    launches = [*CUPY[:4], *LAYER]
    assert advise(launches)
    found = advise(launches, traced(len(launches), waits_ns=99 * sum(each.duration_ns for each in launches)))
    assert [finding.change for finding in found] == ["host_transfer"]


def test_a_loop_is_batched_before_it_is_captured() -> None:
    """Both remove the gaps, but the batched call also fills the GPU."""
    launches = ADVISED["loop_over_experts"][0]
    gap = sum(each.duration_ns for each in launches) / len(launches)
    found = advise(launches, traced(len(launches), gap_ns=gap))
    assert found[0].change == "batch_calls"


def test_a_graph_comes_after_what_removes_the_launches() -> None:
    """An optimizer of 208 launches, and 100 others: a fused one takes two thirds of the gaps away, a graph the rest."""
    others = rounds(50, product(1, 1, 8), launch("gelu", 1, 1, line=51, function="forward", us=4))
    launches = [*others, *backward_products(4, us=8), *adam(tensors=16, size=1)]
    trace = traced(len(launches), gap_ns=11_000)
    assert [each.change for each in advise(launches, trace)] == ["optimizer", "launch_overhead"]
    fewer = [*rounds(4, *others), *backward_products(4, us=8), *adam(tensors=16, size=1)]
    assert advise(fewer, traced(len(fewer), gap_ns=11_000))[0].change == "launch_overhead"


@pytest.mark.parametrize("tables", [16, 15])
def test_a_loop_of_lookups_has_a_backward_pass(tables: int) -> None:
    """Each lookup sorts its indices backward: in 16 lookups the same six kernels come 16 times, in 15 they do not."""
    lookups = rounds(16, launch("embedding", 8, 8, line=41, us=11, kernel="_scatter_gather_elementwise_kernel<1>"))
    sorts = [launch("sort", 1, 1, us=7, backward="EmbeddingBackward0")] * 5
    one = [replace(each, call=replace(each.call, operator="embedding")) for each in sorts if each.call]
    scatter = launch("embedding", 8, 8, us=25, backward="EmbeddingBackward0", kernel="sum_and_scatter")
    launches = [*lookups, launch("cat", 130, 130, line=42), *LAYER * 3, *[*one, scatter] * tables]
    (found,) = list(loops(Program(launches)))
    assert len(found.launches) == 16 + 1 + (16 * 6 if tables == 16 else 0)
    assert found.removed == pytest.approx(15 + (15 * 6 if tables == 16 else 0))
    if tables == 16:
        assert advise(launches, traced(len(launches), gap_ns=10_000))[0].change == "batch_calls"


def test_real_transforms_do_half() -> None:
    (found,) = list(real_transforms(Program([*COMPLEX, REAL])))
    assert found.saved == pytest.approx((22_000, 22_000 + 128_000 / 2, 22_000 + 150_000 / 2))


@pytest.mark.parametrize(
    "launches",
    [COMPLEX, [*COMPLEX[:3], REAL], [*COMPLEX[1:], REAL]],
    ids=["a complex result", "no transform back", "a complex array"],
)
def test_complex_transforms_of_complex_arrays_are_no_waste(launches: list[ProgramLaunch]) -> None:
    assert not list(real_transforms(Program(launches)))
    assert not [each for each in advise(launches) if each.change == "fewer_conversions"]


UPDATES = rounds(60, *[launch(word, 8, 4, line=9, us=4) for word in ("mul", "sub", "copy_")])


@pytest.mark.parametrize("launches", [RECURRENCE, UPDATES], ids=["recurrence", "updates of parameters"])
def test_not_every_loop_is_to_be_batched(launches: list[ProgramLaunch]) -> None:
    """The states of a recurrence are joined in the end, too; updates in place are one fused or foreach call."""
    assert not list(loops(Program(launches)))
    assert {finding.change for finding in advise(launches)} == {"fuse"}


@pytest.mark.parametrize("operator", ["cublasSgemmStridedBatched", "cublasSdot_v2", "cufftExecC2C", ""])
def test_a_loop_in_cpp_is_batched_where_its_product_has_a_batched_form(operator: str) -> None:
    assert not list(loops(Program(rounds(64, of_cpp(operator, "sgemm"), of_cpp("", "gate")))))


def test_a_program_in_cpp_gets_the_terms_of_cuda_and_no_operator_of_python() -> None:
    (batch,) = advise(rounds(64, of_cpp("cublasSgemm_v2", "sgemm"), of_cpp("", "gate")))
    assert "cublasSgemmStridedBatched" in batch.advice
    sorted_for_few = [of_cpp("", "sort", us=400.0), of_cpp("", "index_select", us=4.0)]
    assert not [each for each in advise(sorted_for_few) if each.change == "better_operator"]


def test_unknown_bytes_save_nothing_where_other_launches_show_the_bandwidth() -> None:
    product = launch("sgemm", NAN, NAN, us=500, fma=80, tensor=0)
    known = launch("sgemm", 8, 4, us=500, fma=80, tensor=0)
    stream = launch("add", 40, 40)
    assert "tensor_cores" in {finding.change for finding in advise([known, stream])}
    assert not advise([product, stream])


def test_a_kernel_of_the_user_waits_on_tensor_cores_too() -> None:
    """A third of its time the FMA pipes idle; a library's product has another kernel."""
    own = advise(ADVISED["triton_product"][0])[0]
    library = advise(ADVISED["float32_products"][0])[0]
    assert own.gain.best == pytest.approx(1 / (0.36 + 0.64 / 5))
    assert own.gain.best < library.gain.best


def test_the_caller_of_repeated_work_comes_first() -> None:
    """The bias is to be computed before the loop: where it is called, not in the function that computes it."""
    loop = (Frame("encode", "train.py", 62), Frame("main", "train.py", 90))
    bias = [replace(each, call=replace(each.call, callers=loop)) for each in POSITION_BIAS if each.call]
    (finding,) = advise(rounds(4, *LAYER, *bias))
    assert [call.line for call in finding.calls[:2]] == [62, 26]


def test_a_graph_is_of_the_innermost_line_that_launches_everything() -> None:
    step = (Frame("step", "train.py", 46), Frame("main", "train.py", 90))
    one = launch("mm", 0.1, 0.1, us=2, line=30, function="derivative")
    two = launch("mm", 0.1, 0.1, us=2, line=31, function="derivative")
    launches = [replace(each, call=replace(each.call, callers=step)) for each in [one, two] * 50 if each.call]
    (finding,) = advise(launches, traced(100, gap_ns=18_000))
    assert finding.change == "launch_overhead"
    assert finding.calls[0].line == 46


def test_the_change_is_given_in_the_terms_of_the_framework() -> None:
    assert "cupy." in advise(CUPY)[0].advice
    assert "jax." in advise(XLA_SCORES)[0].advice
    assert "scaled_dot_product_attention" in advise(ADVISED["attention"][0])[0].advice
    assert "tl.dot" in advise(ADVISED["triton_product"][0])[0].advice


def test_the_gpu_says_how_fast_its_tensor_pipes_are() -> None:
    known = launch("sgemm", 8, 4, us=500, fma=80, tensor=0)
    stream = launch("copy_", 400, 400, line=40, us=200)

    def saved(gpu: ProgramGpu) -> float:
        found = [each for each in advise([known, stream], gpu=gpu) if each.change == "tensor_cores"]
        return found[0].saved_ns.high if found else 0.0

    assert saved(ProgramGpu(tensor_speedup=Estimate(1.0, 1.0, 1.0))) == 0.0
    assert saved(ProgramGpu(tensor_speedup=Estimate(2.0, 2.0, 2.0))) == pytest.approx(250_000.0)
    assert saved(ProgramGpu()) == saved(ProgramGpu(tensor_speedup=Estimate(2.0, 5.0, 12.0))) > 450_000.0


def test_the_gpu_says_what_is_left_between_kernels_of_a_graph() -> None:
    small = [launch("add", 0.1, 0.1, line=5, us=2)] * 40
    trace = KernelTrace(40, 80_000, 480_000, launch_gap_ns=10_000, waits=0, waits_ns=0, copied_ns=0, once_ns=0)
    slow, fast = (advise(small, trace, ProgramGpu(graph_gap_ns=gap)) for gap in (4_000.0, 500.0))
    assert [each.change for each in (*slow, *fast)].count("launch_overhead") == 2
    assert fast[0].saved_ns.best - slow[0].saved_ns.best == pytest.approx(40 * 3_500.0)
