"""Name the vendor's library (cuDNN, cuBLAS, NCCL and others) that a kernel is from, by the kernel's demangled name.

``vendor_of`` returns it, or an empty text; only the vendor can change such a kernel, so it gets no advice.
"""

from __future__ import annotations

import re
from functools import lru_cache

_NAMES = (
    # cuDNN's generated kernels name the library; its precompiled convolutions bear names of cuBLAS's kernels.
    ("cuDNN", r"cudnn(?:::|_)|[a-z]+_s?cudnn_|sm\d+_xmma_(?:fprop|dgrad|wgrad|conv)"),
    ("cuBLAS", r"nvjet_|sm\d+_xmma_|cublas\w*::|gemmSN_|gemv2[NT]_|gemvNSP|dot_kernel<.*cublas|splitKreduce_kernel"),
    ("cuBLAS", r"(?:maxwell|volta|turing|ampere|hopper|blackwell)_\w*(?:gemm|syrk|trsm)|cutlass_\d+_\w*gemm"),
    ("NCCL", r"nccl(?:Dev)?Kernel|ncclSymk?\w*Kernel"),
    ("XLA", r"stream_executor::gpu::"),  # JAX's tuning of products: a kernel that waits, and checks of results
    ("cuFFT", r"(?:regular|vector|multi_bluestein|composite_2way)_fft|cufft\w*::"),
    ("cuSPARSE", r"cusparse\w*::"),
    ("cuSOLVER", r"cusolver\w*::"),
)
"""Library -> how names of its kernels begin, as seen in CUDA 11 to 13; the first that fits wins."""
_FORMS = tuple((library, re.compile(rf"(?:void\s+)?(?:{pattern})")) for library, pattern in _NAMES)
_DIFFERENT = 1 << 12


@lru_cache(_DIFFERENT)
def vendor_of(demangled: str) -> str:
    """The vendor's library that a kernel of this demangled name is from; empty where it is of none."""
    return next((library for library, form in _FORMS if form.match(demangled)), "")
