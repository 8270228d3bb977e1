"""Kernels of vendors' libraries get no advice, and warp-specialised kernels none about occupancy and barriers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncuview.base.paths import shipped
from ncuview.engine.rank import diagnose
from ncuview.engine.rule_file import shipped_rules
from ncuview.engine.vendors import vendor_of
from ncuview.metrics.analysis import Analysis
from ncuview.pipeline.profiled import read_with_sources
from ncuview.records.diagnosis import Finding, NotApplicable

STAND_DOWN = {
    "OCC001",
    "OCC002",
    "OCC005",
    "OCC006",
    "LMEM001",
    "SYNC001",
    "SYNC002",
    "SYNC003",
    "SYNC004",
    "WORK003",
}


@pytest.mark.parametrize(
    ("name", "library"),
    [
        ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", "cuBLAS"),
        ("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32_warpgroupsize2x1x1", "cuBLAS"),
        ("ampere_sgemm_128x64_nn", "cuBLAS"),
        ("void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float>(cublasLt::Params)", "cuBLAS"),
        ("void gemmSN_TN_kernel<float, (int)128>(cublasGemmSmallNParams<float>)", "cuBLAS"),
        ("void cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4", "cuBLAS"),
        ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x64x32", "cuDNN"),
        ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64", "cuDNN"),
        ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, (int)512>(cudnnTensorStruct)", "cuDNN"),
        ("void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float>(int)", "cuDNN"),
        ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)", "NCCL"),
        ("void regular_fft<(unsigned int)256, (EPT)16>(kernel_arguments_t<unsigned int>)", "cuFFT"),
        ("stream_executor::gpu::<unnamed>::DelayKernel(volatile stream_executor::GpuSemaphoreState *)", "XLA"),
        ("void stream_executor::gpu::xla_fp_comparison<float>(T1 *, T1 *, float)", "XLA"),
        ("transposeCoalesced(float *, const float *, int)", ""),
        ("void at::native::vectorized_elementwise_kernel<(int)4, at::native::AddFunctor>(int)", ""),
        ("my_sgemm_128x64(float *)", ""),
        ("void mine::cudnnLike(float *)", ""),
        ("gemv2(float *)", ""),
        ("triton_poi_fused_add_0", ""),
        ("", ""),
    ],
)
def test_a_library_is_known_by_the_names_of_its_kernels(name: str, library: str) -> None:
    assert vendor_of(name) == library


def test_a_vendors_kernel_gets_no_advice_whatever_rules_find() -> None:
    profile = read_with_sources([shipped("kernels") / "transpose" / "h200.ncu-repz"], "transposeCoalesced")
    ours = diagnose(profile, shipped_rules()).launches[0]
    assert ours.verdict == "advice"
    renamed = replace(profile, launches=profile.launches.assign(demangled="nvjet_sm90_tst_256x128"))
    theirs = diagnose(renamed, shipped_rules()).launches[0]
    assert (theirs.verdict, theirs.owner, theirs.findings) == ("not-yours", "cuBLAS", ())
    rejected = [outcome for outcome in theirs.outcomes if isinstance(outcome, Finding)]
    assert rejected
    assert {each.rejected for each in rejected} == {
        "the kernel is part of cuBLAS, whose code only its vendor can change"
    }


@pytest.mark.parametrize(
    "instruction",
    [
        "UTMALDG.2D [UR8], [UR4], desc[UR6] ;",
        "SYNCS.EXCH.64 URZ, [UR4], UR6 ;",
        "USETMAXREG.DEALLOC.CTAPOOL 0x28 ;",
        "@P0 HGMMA.64x256x16.F32.BF16 R24, gdesc[UR8], R24 ;",
        "UBLKCP.S.G [UR4], [UR6], UR8 ;",
    ],
)
def test_rules_on_occupancy_and_barriers_stand_down_on_warp_specialised_kernels(instruction: str) -> None:
    profile = read_with_sources([shipped("kernels") / "reduction" / "h200.ncu-repz"], "reduce_v1")
    assert set(Analysis(profile).value("warp_specialised")) == {0.0}
    sass = profile.instructions["sass"].to_list()
    sass[0] = instruction
    changed = replace(profile, instructions=profile.instructions.assign(sass=sass))
    assert Analysis(changed).value("warp_specialised")[0] == 1.0
    outcomes = {outcome.rule.code: outcome for outcome in diagnose(changed, shipped_rules()).launches[0].outcomes}
    assert {code for code in STAND_DOWN if isinstance(outcomes[code], NotApplicable)} == STAND_DOWN


def test_without_machine_code_a_kernel_is_not_taken_for_a_specialised_one() -> None:
    profile = read_with_sources([shipped("kernels") / "reduction" / "h200.ncu-repz"], "reduce_v1")
    blind = replace(profile, instructions=profile.instructions.iloc[:0])
    assert set(Analysis(blind).value("warp_specialised")) == {0.0}
