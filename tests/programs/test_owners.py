"""Whose code a kernel is, for names and call stacks of real launches."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from importlib import resources

import pandas as pd
import pytest

from ncuview.base.errors import UsageError
from ncuview.base.patterns import compiled
from ncuview.programs.owners import YOURS, Owner, owner_of, owners_of
from ncuview.records.profile import CallSite, CallStack, Frame
from tests.builders import COPY, Launch, make_profile

SITE = "/opt/venv/lib/python3.12/site-packages"
RUNTIME = (f"{SITE}/nvidia/cu13/lib/libcudart.so.13", "cudaLaunchKernel")
TORCH = f"{SITE}/torch/lib/libtorch_cuda.so"
PYTHON = "/opt/venv/bin/python3"
IN_TORCH = (RUNTIME, TORCH, f"{SITE}/torch/lib/libtorch_cpu.so", f"{SITE}/torch/lib/libtorch_python.so", PYTHON)
CUBLAS_LT = f"{SITE}/nvidia/cu13/lib/libcublasLt.so.13"
IN_CUBLAS = (CUBLAS_LT, f"{SITE}/nvidia/cu13/lib/libcublas.so.13", *IN_TORCH[1:])
CUDNN = f"{SITE}/nvidia/cudnn/lib/libcudnn_engines_precompiled.so.9"
IN_CUDNN = (CUDNN, f"{SITE}/nvidia/cudnn/lib/libcudnn_graph.so.9", *IN_TORCH[1:])
XLA = f"{SITE}/jax_plugins/xla_cuda13/xla_cuda_plugin.so"
IN_XLA = (XLA, f"{SITE}/jaxlib/libjax_common.so", PYTHON)
XLA_GRAPH = ((XLA, "stream_executor::gpu::CudaCommandBuffer::LaunchGraph(stream_executor::Stream*)"), *IN_XLA)
SO = "cpython-312-x86_64-linux-gnu.so"
CUPY = (f"{SITE}/cupy_backends/cuda/api/driver.{SO}", f"{SITE}/cupy/cuda/function.{SO}")
IN_CUPY = (*CUPY, f"{SITE}/cupy/_core/_kernel.{SO}", PYTHON)
IN_TRITON = (f"/home/me/.triton/cache/MEHIU4/__triton_launcher.{SO}", PYTHON)
TORCH_GRAPH = (
    (RUNTIME[0], "cudaGraphLaunch"),
    (TORCH, "at::cuda::CUDAGraph::replay()"),
    f"{SITE}/torch/lib/libtorch_python.so",
    PYTHON,
)
MINE = "/home/me/train.py"
CACHED = f"ab/c{'a2' * 25}b.py"

CUB_REDUCE = (
    "void cub::CUB_200700_800_NS::DeviceReduceSingleTileKernel<cub::CUB_200700_800_NS::DeviceReducePolicy<float, int,"
    " Sum>::Policy600, float *>(T2, T3, T4)"
)
FOR_EACH = (
    "void thrust::THRUST_200400_NS::cuda_cub::core::_kernel_agent<thrust::cuda_cub::__parallel_for::ParallelForAgent<"
    "thrust::cuda_cub::for_each_f<thrust::device_ptr<float>, scale>, long>, long>(T2, T3)"
)
CUB_FILE = "/usr/local/cuda-13.0/include/cub/agent/agent_reduce.cuh"
THRUST_FILE = "/usr/local/cuda/include/thrust/system/cuda/detail/parallel_for.h"
YOUR_OWN, CUBLAS, CUDNN_ = YOURS, Owner("vendor", "cuBLAS"), Owner("vendor", "cuDNN")
PYTORCH, XLA_ = Owner("framework", "PyTorch"), Owner("generated", "XLA")
CUPY_, CUPYS_OWN = Owner("generated", "CuPy"), Owner("framework", "CuPy")
INDUCTOR, CUB, THRUST = Owner("generated", "TorchInductor"), Owner("framework", "CUB"), Owner("framework", "Thrust")
CUSPARSE, ATTENTION = Owner("vendor", "cuSPARSE"), Owner("vendor", "memory-efficient attention")


def stack(*native: str | tuple[str, str], caller: str = MINE) -> CallStack | None:
    """The call stack of these native modules, the innermost first, called by a Python file; None without any."""
    if not native:
        return None
    frames = (Frame(each[1], each[0], 0) if isinstance(each, tuple) else Frame("", each, 0) for each in native)
    return CallStack((Frame("step", caller, 7), Frame("<module>", MINE, 20)), tuple(frames))


WITH_STACK = [
    ("void at::native::<unnamed>::vectorized_layer_norm_kernel<c10::BFloat16, float, (bool)0>(int)", IN_TORCH, PYTORCH),
    (
        "void at::native::vectorized_elementwise_kernel<(int)8, at::native::CUDAFunctor_add<float>>(int)",
        IN_TORCH,
        PYTORCH,
    ),
    ("void <unnamed>::softmax_warp_forward<c10::BFloat16, float, float, (int)11>(T2 *)", IN_TORCH, PYTORCH),
    ("void <unnamed>::elementwise_kernel_with_index<int, at::native::arange_cuda_out(int)>(int)", IN_TORCH, PYTORCH),
    (
        "void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::TensorListMetadata<(int)1>>()",
        IN_TORCH,
        PYTORCH,
    ),
    ("void at_cuda_detail::cub::detail::reduce::DeviceReduceKernel<int>(T2)", IN_TORCH, PYTORCH),
    ("void cub::DeviceRadixSortOnesweepKernel<int>(T2)", IN_TORCH, PYTORCH),
    (
        "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention::AttentionKernel<float>::Params)",
        IN_TORCH,
        ATTENTION,
    ),
    (
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)64>>(T1)",
        IN_TORCH,
        Owner("vendor", "FlashAttention"),
    ),
    (
        "void cutlass::device_kernel<at::cuda::detail::enable_3x_kernel_for_sm9x<int>>(T1)",
        IN_TORCH,
        Owner("vendor", "CUTLASS"),
    ),
    ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT", IN_CUBLAS, CUBLAS),
    ("void cutlass::Kernel2<cutlass_80_simt_sgemm_256x128_8x4_nn_align1>(T1::Params)", IN_CUBLAS, CUBLAS),
    ("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize128x32x8_stage3_ffma_execute_kernel__5x_cublas", IN_CUBLAS, CUBLAS),
    ("void an_internal_kernel_of_tomorrow<float>(T1 *)", IN_CUBLAS, CUBLAS),
    ("nvjet_sm90_tst_24x512_64x3_1x2_h_bz_TNN", (CUBLAS_LT, *IN_CUDNN), CUBLAS),
    ("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc__5x_cudnn", IN_CUDNN, CUDNN_),
    ("void nhwcAddPaddingKernel<float, float, float, (bool)1, (cudnnKernelDataType_t)2>(int)", IN_CUDNN, CUDNN_),
    ("void cutlass__5x_cudnn::Kernel<cutlass_tensorop_s1688fprop_optimized_tf32>(T1::Params)", IN_CUDNN, CUDNN_),
    (
        "void cusparse::<unnamed>::csr_partition_kernel<long, long>(const T1 *)",
        (f"{SITE}/x/libcusparse.so.12", *IN_TORCH),
        CUSPARSE,
    ),
    (
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        (RUNTIME, "/usr/lib/libnccl.so.2"),
        Owner("vendor", "NCCL"),
    ),
    ("input_concatenate_fusion", IN_XLA, XLA_),
    ("loop_compare_fusion", XLA_GRAPH, XLA_),
    ("fusion_15", XLA_GRAPH, XLA_),
    ("gemm_fusion_dot_5", XLA_GRAPH, XLA_),
    ("copy_7", IN_XLA, XLA_),
    ("nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", XLA_GRAPH, CUBLAS),
    ("void cub::DeviceRadixSortOnesweepKernel<int>(T2)", IN_XLA, CUB),
    ("void stream_executor::gpu::xla_fp_comparison<float>(T1 *, T1 *, float)", IN_XLA, Owner("framework", "XLA")),
    ("cupy_subtract__float32_float32_float32", IN_CUPY, CUPYS_OWN),
    ("haversine_hours", IN_CUPY, CUPY_),
    ("chord", (*IN_CUPY[:3], f"{SITE}/cupy/_core/fusion.{SO}", PYTHON), CUPY_),
    ("void cub::DeviceReduceKernel<float>(T2)", (f"{SITE}/cupy/cuda/cub.{SO}", PYTHON), CUPYS_OWN),
    ("saxpy", (*CUPY, f"{SITE}/cupy/_core/raw.{SO}", PYTHON), YOUR_OWN),
    ("dense_kernel", IN_TRITON, YOUR_OWN),
    ("triton_poi_fused_add_relu_0", IN_TRITON, INDUCTOR),
    ("triton_red_fused_native_layer_norm_3", (f"{SITE}/torch/lib/libtorch_python.so", PYTHON), INDUCTOR),
    ("triton_per_fused_sum_1", TORCH_GRAPH, INDUCTOR),
    ("dense_kernel", TORCH_GRAPH, YOUR_OWN),
    ("nvjet_sm90_tst_128x128_64x6_2x1_v_bz_NNT", TORCH_GRAPH, CUBLAS),
    ("void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float>>(T3)", TORCH_GRAPH, PYTORCH),
    (
        "void vision::ops::<unnamed>::nms_kernel_impl<float>(int)",
        (RUNTIME, f"{SITE}/torchvision/_C.so"),
        Owner("framework", "torchvision"),
    ),
    (
        "void scatter_kernel<float>(T1 *)",
        (RUNTIME, f"{SITE}/torch_scatter/_scatter_cuda.so"),
        Owner("framework", "PyG"),
    ),
    ("void my_kernel(float *)", (RUNTIME, "/home/me/.cache/torch_extensions/mine/mine.so", TORCH), YOUR_OWN),
    (
        "cudapy::__main__::kernel[abi:v1](Array<float, 1, C, mutable>)",
        (f"{SITE}/cuda/bindings/driver.{SO}", PYTHON),
        YOUR_OWN,
    ),
    ("my_sgemm_128x64(float *)", (RUNTIME, "/home/me/a.out"), YOUR_OWN),
    ("smooth(float *)", (RUNTIME, "/home/me/apex/build/smooth.so"), YOUR_OWN),
    ("smooth(float *)", ("", f"{SITE}/torch/lib/libcudart-9335f6a2.so.12", TORCH), PYTORCH),
]

BY_NAME = [
    ("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT", CUBLAS),
    ("sm90_xmma_gemm_f32f32_tf32f32_f32_nn_n_tilesize128x256x32_warpgroupsize2x1x1", CUBLAS),
    ("ampere_sgemm_128x64_nn", CUBLAS),
    ("void cublasLt::splitKreduce_kernel<(int)32, (int)16, int, float>(cublasLt::Params)", CUBLAS),
    ("void gemmSN_TN_kernel<float, (int)128>(cublasGemmSmallNParams<float>)", CUBLAS),
    ("void cutlass_80_tensorop_s1688gemm_128x256_16x3_nn_align4", CUBLAS),
    ("std::enable_if<!(T7), void>::type internal::gemvx::kernel<int, int, float>(T13)", CUBLAS),
    (
        "void scal_kernel<float, float, (int)1, (bool)1>(cublasTransposeParams<T2>, const T1 *, T1 *, const T2 *)",
        CUBLAS,
    ),
    ("void dot_kernel<float, (int)128, cublasDotParams<cublasGemvTensor<const float>>>(T4)", CUBLAS),
    ("void sgemm_largek_lds64<(bool)1, (bool)0, (int)5>(float *, const float *, const float *, int)", CUBLAS),
    ("sm80_xmma_fprop_implicit_gemm_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x64x32", CUDNN_),
    ("void cask_plugin__5x_cudnn::xmma__5x_cudnn::init_device_workspace_kernel<float>(T1)", CUDNN_),
    (
        "sm90_xmma_depthwise_convolution_wgrad_tiling_f32f32_f32f32_f32_nhwckrsc_nhwc_post_execute_kernel__5x_cudnn",
        CUDNN_,
    ),
    ("conv2d_c1_k1_nhwc", CUDNN_),
    ("dgrad2d_c1_k1_nhwc_specialized", CUDNN_),
    (
        "void convolve_common_engine_float_NHWC<float, float, (int)1024>(int, const T1 *, conv_kernel_common_params)",
        CUDNN_,
    ),
    ("void wgrad_alg0_engine_NHWC<float, (int)128>(int, int, const T1 *, int, T1 *, kernel_grad_params)", CUDNN_),
    ("void a_kernel_of_tomorrow<float>(const T1 *, cudnn::reduced_divisor, cudnnTensorStruct)", CUDNN_),
    ("void magma_sgemmEx_kernel<float, __nv_bfloat16>(int, BatchedTensor, T1, cublasLtEpilogue_t, int)", CUBLAS),
    ("cupy_scan_naive", CUPYS_OWN),
    ("cupyx_scipy_sparse_dia_tocsc", CUPYS_OWN),
    ("void trsv_ln_exec_up<float, (unsigned int)32>(int, const T1 *, long, T1 *, long, int *)", CUBLAS),
    ("potrf_alg2_set_info(int, int, int *)", Owner("vendor", "cuSOLVER")),
    ("void implicit_convolve_sgemm<float, float, (int)1024>(int, int, int, const T1 *, kernel_conv_params)", CUDNN_),
    ("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64", CUDNN_),
    ("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, (int)512>(cudnnTensorStruct)", CUDNN_),
    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", Owner("vendor", "NCCL")),
    ("void regular_fft<(unsigned int)256, (EPT)16>(kernel_arguments_t<unsigned int>)", Owner("vendor", "cuFFT")),
    ("stream_executor::gpu::<unnamed>::DelayKernel(volatile GpuSemaphoreState *)", Owner("framework", "XLA")),
    ("void (anonymous namespace)::softmax_warp_backward<float, float, float, 7>(T2 *)", PYTORCH),
    ("void at::native::vectorized_elementwise_kernel<(int)4, at::native::FillFunctor<float>>(int)", PYTORCH),
    ("void cudf::detail::gather_bitmask_kernel<int>(T1)", Owner("framework", "RAPIDS")),
    ("void raft::linalg::map_kernel<int>(T1)", Owner("framework", "RAPIDS")),
    ("void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<64>>(T1)", Owner("vendor", "FlashAttention")),
    ("void vllm::paged_attention_v1_kernel<float>(T1)", Owner("framework", "vLLM")),
    (CUB_REDUCE, CUB),
    (FOR_EACH, THRUST),
    ("wrapped_transpose", XLA_),
    ("triton_tem_fused_mm_0", INDUCTOR),
    ("transposeCoalesced(float *, const float *, int)", YOUR_OWN),
    ("void mine::cudnnLike(float *)", YOUR_OWN),
    ("gemv2(float *)", YOUR_OWN),
    ("void sgemm_shared<float>(const cublasHandle *, T1 *)", YOUR_OWN),
    ("void my_convolve_engine<float>(T1 *)", YOUR_OWN),
    ("void mine<float>(const T1 *, cudnnHandle_t, conv_params)", YOUR_OWN),
    ("conv2d_of_mine(float *)", YOUR_OWN),
    ("fusion(float *)", YOUR_OWN),
    ("layer_norm_fusion", YOUR_OWN),
    ("triton_softmax", YOUR_OWN),
    ("void scale<c10::Half>(T1 *)", YOUR_OWN),
    ("void reduce<cub::Sum>(float *, T1)", YOUR_OWN),
    ("", YOUR_OWN),
]

BY_FILES = [
    ("dense_kernel", (MINE, f"{SITE}/triton/language/standard.py"), IN_TRITON, YOUR_OWN),
    ("loop_add_fusion", ("/home/me/pallas_kernels.py",), IN_XLA, YOUR_OWN),
    ("void cutlass::device_kernel<Gemm>(T1)", ("/home/me/cutlass/include/cutlass/device_kernel.h",), (), YOUR_OWN),
    ("nvjet_mine(float *)", ("mine.cu",), (RUNTIME, "/home/me/a.out"), YOUR_OWN),
    ("void sum(float *)", ("/home/me/sum.cu", CUB_FILE), (), YOUR_OWN),
    ("void sum(float *)", ("C:\\work\\sum.cu",), (), YOUR_OWN),
    (CUB_REDUCE, (CUB_FILE, "/usr/local/cuda-13.0/include/cuda_fp16.hpp"), (RUNTIME, "/home/me/a.out"), CUB),
    (CUB_REDUCE, (CUB_FILE, "/home/me/sum.cu"), (), CUB),
    (CUB_REDUCE, ("/home/me/build/_deps/cccl-src/cub/cub/agent/agent_reduce.cuh",), (), CUB),
    (FOR_EACH, (THRUST_FILE,), (), THRUST),
    ("void smooth(float *)", (CUB_FILE,), (), YOUR_OWN),
    ("void smooth(float *)", ("/home/me/cub/device/smooth.cu",), (), YOUR_OWN),
    ("triton_poi_fused_add_0", (f"/tmp/torchinductor_me/{CACHED}",), IN_TRITON, INDUCTOR),
    ("triton_", (f"/scratch/cache/{CACHED}",), (), INDUCTOR),
    ("haversine_hours", ("/tmp/tmp1/0123456789abcdef0123456789abcdef01234567.cubin.cu",), IN_CUPY, CUPY_),
    ("saxpy", ("/tmp/tmp1/0123456789abcdef0123456789abcdef01234567.cubin.cu",), (), YOUR_OWN),
    ("_rms_norm_forward", (f"{SITE}/liger_kernel/ops/rms_norm.py",), IN_TRITON, Owner("framework", "liger_kernel")),
    ("helper", (f"{SITE}/triton/language/standard.py",), IN_TRITON, YOUR_OWN),
    (
        "void at::native::reduce_kernel<float>(T1)",
        (f"{SITE}/torch/include/ATen/Reduce.cuh", "/home/me/ext.cu"),
        (),
        PYTORCH,
    ),
    ("void ext(float *)", (f"{SITE}/torch/include/ATen/Reduce.cuh", "/home/me/ext.cu"), (), YOUR_OWN),
]


@pytest.mark.parametrize(("name", "native", "owner"), WITH_STACK)
def test_the_innermost_library_and_the_name_show_the_owner(
    name: str, native: tuple[str | tuple[str, str], ...], owner: Owner
) -> None:
    assert owner_of(name, stack(*native), ()) == owner


@pytest.mark.parametrize(("name", "owner"), BY_NAME)
def test_without_a_stack_the_name_shows_the_owner(name: str, owner: Owner) -> None:
    assert owner_of(name, None, ()) == owner
    assert owner_of(name, CallStack(), ()) == owner


@pytest.mark.parametrize(("name", "files", "native", "owner"), BY_FILES)
def test_files_of_the_line_table_are_the_strongest_evidence(
    name: str, files: tuple[str, ...], native: tuple[str | tuple[str, str], ...], owner: Owner
) -> None:
    assert owner_of(name, stack(*native), files) == owner
    assert owner_of(name, stack(*native), frozenset(files)) == owner


def test_a_raw_kernel_is_the_users_where_no_file_of_cupy_launches_it() -> None:
    native = (*CUPY, f"{SITE}/cupy/_core/raw.{SO}", PYTHON)
    assert owner_of("upfirdn", stack(*native), ()) == YOURS
    assert owner_of("upfirdn", stack(*native, caller=f"{SITE}/cupyx/scipy/signal/_upfirdn.py"), ()).name == "CuPy"


def test_a_backward_pass_has_no_python_frame() -> None:
    frames = CallStack((), (Frame("", CUBLAS_LT, 0),))
    assert owner_of("nvjet_sm90_tst_64x32", frames, ()) == CUBLAS


@pytest.mark.parametrize(
    ("inside", "name", "files", "native", "owner"),
    [
        ("aten::conv2d, seq = 7", "void a_kernel_of_tomorrow<float>(T1 *)", (), (), CUDNN_),
        ("aten::cudnn_convolution, op_id = 7", "conv_of_tomorrow", (), (), CUDNN_),
        ("aten::_scaled_dot_product_cudnn_attention_backward, op_id = 7", "attention_of_tomorrow", (), (), CUDNN_),
        ("aten::convolution_backward", "void at::native::<unnamed>::conv_depthwise2d<float>()", (), (), PYTORCH),
        ("aten::addmm, seq = 7", "gemm_of_tomorrow", (), (), CUBLAS),
        ("aten::bmm, seq = 7", "void gemm_of_tomorrow<float>(T1 *)", (), (), CUBLAS),
        ("aten::mmul_of_tomorrow, seq = 7", "gemm_of_tomorrow", (), (), PYTORCH),
        ("aten::sort, seq = 7", "sort_of_tomorrow", (), (), PYTORCH),
        ("aten::conv2d, seq = 7", "nvjet_sm90_tst_64x32", (), (), CUBLAS),
        ("aten::add", "dense_kernel", (MINE,), (), YOUR_OWN),
        ("aten::add", "void mine(float *)", (), (RUNTIME, "/home/me/mine.so"), YOUR_OWN),
        ("mine::scale", "void mine(float *)", (), (), YOUR_OWN),
        ("not aten::add", "void mine(float *)", (), (), YOUR_OWN),
        ("", "void mine(float *)", (), (), YOUR_OWN),
    ],
)
def test_what_an_operator_of_pytorch_launches_is_not_the_users(
    inside: str, name: str, files: tuple[str, ...], native: tuple[str | tuple[str, str], ...], owner: Owner
) -> None:
    """Where native frames are missing: a range around Python's call stack is all that is known of the library."""
    found = CallStack((Frame("step", MINE, 7),), (stack(*native) or CallStack()).native)
    assert owner_of(name, found, files, inside) == owner


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        (f"{SITE}/cupy/linalg/_decomposition.py", CUPYS_OWN),
        (f"{SITE}/flash_attn/flash_attn_interface.py", Owner("vendor", "FlashAttention")),
        (f"{SITE}/some_package/ops.py", Owner("framework", "some_package")),
        (f"{SITE}/numba_cuda/numba/cuda/dispatcher.py", YOUR_OWN),
        (f"{SITE}/triton/runtime/jit.py", YOUR_OWN),
        (f"{SITE}/torch/_ops.py", YOUR_OWN),
        (f"{SITE}/cupyx/jit/_interface.py", YOUR_OWN),
        (MINE, YOUR_OWN),
    ],
)
def test_the_innermost_python_function_shows_the_owner(file: str, owner: Owner) -> None:
    """Where native frames are missing, such as for kernels of cuSOLVER that CuPy calls."""
    called = CallStack((Frame("f", file, 3), Frame("<module>", MINE, 20)))
    assert owner_of("potrs_of_tomorrow(int *)", called, ()) == owner
    assert owner_of("potrs_of_tomorrow(int *)", replace(called, native=(Frame("", "/home/me/a.so", 0),)), ()) == YOURS


@pytest.mark.parametrize(
    ("file", "owner"),
    [
        (f"{SITE}/cupyx/cusparse.py", CUSPARSE),
        (f"{SITE}/cupyx/cusolver.py", Owner("vendor", "cuSOLVER")),
        (f"{SITE}/cupy/_sorting/sort.py", CUB),
        (f"{SITE}/some_package/ops.py", CUB),
        (MINE, CUB),
    ],
)
def test_templates_of_cub_are_of_the_vendors_library_that_python_wraps(file: str, owner: Owner) -> None:
    """cuSPARSE sorts with CUB, whose kernels bear no other name; those of CuPy and PyTorch have their own names."""
    called = CallStack((Frame("csc2csrEx2", file, 1490), Frame("<module>", MINE, 13)))
    assert owner_of("void cub::CUB_200101_750_NS::DeviceScanKernel<int>(T2)", called, ()) == owner
    assert owner_of("void at::native::reduce_kernel<(int)512>(T3)", called, ()) == PYTORCH
    assert owner_of("cupy_copy__int32_int32", called, ()) == CUPYS_OWN


def test_what_a_graph_of_xla_launches_is_not_the_users() -> None:
    """XLA launches kernels of libraries; those of Pallas have lines in the user's files."""
    profile = make_profile(*[Launch(instructions=())] * 5)
    names = pd.Series(["loop_add_fusion", "trsv_of_tomorrow", "mine", "trsv_of_tomorrow", "claimed"], dtype="string")
    jit, other = CallStack((Frame("step", MINE, 7),)), CallStack((Frame("step", MINE, 8),))
    given = replace(
        profile,
        launches=profile.launches.assign(demangled=names),
        call_stacks={0: jit, 1: jit, 2: jit, 3: other, 4: jit},
    )
    files = {2: frozenset({MINE})}
    assert owners_of(given, [compiled("claimed")], files) == [XLA_, Owner("framework", "XLA"), YOURS, YOURS, YOURS]


def test_the_innermost_range_of_a_launch_counts() -> None:
    profile = make_profile(*[Launch(instructions=())] * 2)
    names = pd.Series(["kernel_of_tomorrow", "mine"], dtype="string")
    ranges = {0: ("step", "aten::linear, seq = 3", "aten::topk, seq = 3"), 1: ("aten::linear, seq = 3", "mine::scale")}
    given = replace(profile, launches=profile.launches.assign(demangled=names), nvtx_ranges=ranges)
    assert owners_of(given) == [PYTORCH, YOURS]


@pytest.mark.parametrize("pattern", ["DeviceReduce", r"agent_.*\.cuh$", "^void cub"])
def test_what_the_user_claims_is_theirs_whatever_else_shows(pattern: str) -> None:
    assert owner_of(CUB_REDUCE, stack(*IN_TORCH), (CUB_FILE,), "", [compiled("nothing"), compiled(pattern)]) == YOURS
    assert owner_of("nvjet_sm90", None, (), "", [compiled(pattern)]) == CUBLAS


def test_a_claim_that_is_no_pattern_is_refused() -> None:
    with pytest.raises(UsageError, match="--mine \\( is no pattern"):
        compiled("(", "--mine ")


def test_owners_of_a_profile_are_in_the_order_of_its_launches() -> None:
    profile = make_profile(*[Launch(instructions=COPY)] * 2, *[Launch(instructions=())] * 2)
    names = ["mine(float *)", CUB_REDUCE, CUB_REDUCE, "unknown"]
    found = profile.instructions.assign(
        file=profile.instructions["file"].where(profile.instructions["launch"] == 0, CUB_FILE)
    )
    given = replace(
        profile,
        launches=profile.launches.assign(demangled=pd.Series(names, dtype="string")),
        instructions=found,
        call_stacks={3: stack(*IN_CUBLAS) or CallStack()},
    )
    assert owners_of(given) == [YOURS, CUB, CUB, CUBLAS]
    assert owners_of(given, [compiled("DeviceReduce")]) == [YOURS, YOURS, YOURS, CUBLAS]


def test_the_line_that_calls_an_inlined_function_shows_the_owner_too() -> None:
    profile = make_profile()
    of_header = replace(
        profile,
        launches=profile.launches.assign(demangled=pd.Series(["fusion_1"], dtype="string")),
        instructions=profile.instructions.assign(file="/usr/local/cuda/include/cuda_fp16.hpp"),
    )
    assert owners_of(of_header) == [XLA_]
    assert owners_of(replace(of_header, call_sites={0: {0: CallSite("/home/me/k.cu", 3)}})) == [YOURS]


def test_the_table_holds_what_the_module_reads() -> None:
    table = tomllib.loads(resources.files("ncuview.programs").joinpath("owners.toml").read_text(encoding="utf-8"))
    keys = {"kernels", "modules", "callers", "sources", "headers", "operators"}
    for owner in table["owner"]:
        assert owner["kind"] in {"generated", "framework", "vendor"}
        assert owner.keys() - {"name", "kind"} <= keys
        assert owner.keys() & keys
        assert all(re.compile(pattern) for key in owner.keys() & keys for pattern in owner[key])
