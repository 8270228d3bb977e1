"""The pipes that tensor and FP64 instructions share are named as what runs on them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ncuview.metrics.analysis import Analysis
from ncuview.metrics.shared_pipes import shared_pipes
from ncuview.records.diagnosis import Diagnosis
from ncuview.render.outputs import output_text
from ncuview.render.words import attained_words, bottleneck_sentence, bottleneck_words
from ncuview.trends.document import diagnosis_of
from tests.builders import COPY, Instruction, Launch, make_profile
from tests.profiles import recorded_diagnosis, recorded_profile

TENSOR, DOUBLE, BOTH, UNKNOWN = "tensor pipes", "FP64 pipes", "tensor and FP64 pipes", "tensor or FP64 pipes"


def named(launch: Launch) -> str:
    (name,) = shared_pipes(Analysis(make_profile(launch)))
    return name


@pytest.mark.parametrize(
    ("sass", "pipes"),
    [
        (["HMMA.16816.F32 R4, R8, R12, R4"], TENSOR),
        (["HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24"], TENSOR),
        (["IMMA.16832.S8.S8 R4, R8.ROW, R12.COL, R4"], TENSOR),
        (["QGMMA.64x128x32.F32.E4M3.E4M3 R24, gdesc[UR8], R24"], TENSOR),
        (["DFMA R2, R4, R6, R8"], DOUBLE),
        (["DMMA.8x8x4 R4, R8, R12, R4"], DOUBLE),
        (["HMMA.16816.F32 R4, R8, R12, R4", "DADD R2, R4, R6"], BOTH),
        ([], UNKNOWN),
    ],
)
def test_by_the_instructions_that_ran(sass: list[str], pipes: str) -> None:
    assert named(Launch(instructions=(*map(Instruction, sass), *COPY))) == pipes


def test_an_instruction_that_no_warp_executed_names_nothing() -> None:
    idle = Instruction("DADD R2, R4, R6", metrics={"inst_executed": 0.0})
    assert named(Launch(instructions=(Instruction("HMMA.16816.F32 R4, R8, R12, R4"), idle, *COPY))) == TENSOR


def test_code_whose_executions_are_unknown_counts() -> None:
    unknown = Launch(metrics={"inst_executed": float("nan")}, instructions=(Instruction("DFMA R2, R4, R6, R8"), *COPY))
    assert named(unknown) == DOUBLE


@pytest.mark.parametrize(
    ("counters", "pipes"),
    [
        ({"sm__inst_executed_pipe_tensor_op_hmma.sum": 12.0, "sm__inst_executed_pipe_fp64.sum": 0.0}, TENSOR),
        ({"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": 40.0}, TENSOR),
        ({"sm__pipe_tensor_op_hmma_cycles_active.avg": 40.0, "sm__pipe_fp64_cycles_active.avg": 1.0}, BOTH),
        ({"sm__inst_executed_pipe_fp64.avg.pct_of_peak_sustained_active": 12.0}, DOUBLE),
        ({"sm__inst_executed_pipe_tensor_op_dmma.sum": 12.0}, DOUBLE),
        ({"smsp__sass_thread_inst_executed_op_dfma_pred_on.sum": 12.0}, DOUBLE),
        ({"sm__inst_executed_pipe_fp64.sum": 0.0}, UNKNOWN),
    ],
)
def test_without_code_by_counters(counters: dict[str, float], pipes: str) -> None:
    assert named(Launch(metrics=counters, instructions=())) == pipes


@pytest.mark.parametrize(
    ("kernel", "pipes"),
    [
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT", TENSOR),
        ("nvjet_hsh_128x256_64x4_1x2_h_bz_TNT", TENSOR),
        ("ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_32x5_nn", TENSOR),
        ("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4_warpsize2x2x1_tensor16x8x16_kernel", TENSOR),
        ("sm90_xmma_gemm_tf32tf32_tf32f32_f32_tn_n_tilesize128x128x32_warpgroupsize1x1x1_execute_kernel", TENSOR),
        ("volta_dgemm_128x64_nn", DOUBLE),
        ("nvjet_sm90_ddd_64x64_16x4_1x2_h_bz_NNT", DOUBLE),
        ("cutlass_80_tensorop_d884gemm_128x64_16x3_nn_align1", DOUBLE),
        ("sm80_xmma_gemm_f64f64_f64f64_f64_nn_n_tilesize64x64x16", DOUBLE),
        ("ampere_sgemm_128x64_nn", UNKNOWN),
        ("my_kernel", UNKNOWN),
    ],
)
def test_without_code_and_counters_by_the_name_of_a_vendors_product(kernel: str, pipes: str) -> None:
    assert named(Launch(instructions=(), kernel=kernel)) == pipes


@pytest.mark.parametrize(
    ("family", "kernel", "pipes"),
    [
        ("matmul", "mmul_tensor_tiled", TENSOR),
        ("calibration", "fp64Pipe", DOUBLE),
        ("instructions", "multiplyDoubles", DOUBLE),
    ],
)
def test_of_recorded_launches(family: str, kernel: str, pipes: str) -> None:
    profile = recorded_profile(family)
    names = shared_pipes(Analysis(profile))
    found = {name for name, of in zip(names, profile.launches["kernel"].tolist(), strict=True) if of == kernel}
    assert found == {pipes}


@pytest.fixture
def of_doubles() -> Diagnosis:
    """The recorded launch that keeps the FP64 pipes busy, alone."""
    all_launches = recorded_diagnosis("calibration")
    return replace(all_launches, launches=tuple(each for each in all_launches.launches if each.kernel == "fp64Pipe"))


def test_sentences_say_what_runs(of_doubles: Diagnosis) -> None:
    (launch,) = of_doubles.launches
    assert bottleneck_words(launch).startswith("FP64 pipes 9")
    assert bottleneck_sentence(launch).startswith("The bottleneck is FP64 pipes (fp64_tensor) at 9")
    assert bottleneck_sentence(launch).endswith("% of their peak")
    assert attained_words(launch).endswith("of what FP64 pipes attain")


def test_json_keeps_the_key_and_has_the_name(of_doubles: Diagnosis) -> None:
    document = json.loads(output_text(of_doubles, None, "json"))
    launch = document["launches"][0]
    assert (launch["bottleneck"], launch["unit_names"]) == ("fp64_tensor", {"fp64_tensor": "FP64 pipes"})
    assert launch["units"]["fp64_tensor"] > 0.9
    assert diagnosis_of(document).launches[0].bottleneck_name == "FP64 pipes"


@pytest.mark.parametrize("form", ["terminal", "markdown", "html", "junit"])
def test_pages_say_what_runs(form: str, of_doubles: Diagnosis) -> None:
    assert "FP64 pipes" in str(output_text(of_doubles, None, form))
