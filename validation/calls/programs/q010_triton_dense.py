"""Six dense layers with ReLU in a hand-written Triton matrix product (float32)."""
import torch
import triton
import triton.language as tl

ROWS, DIM, LAYERS = 4096, 2048, 6


@triton.jit
def dense_kernel(a_ptr, b_ptr, c_ptr, M, N, K,
                 BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr):
    pid_m = tl.program_id(0)
    pid_n = tl.program_id(1)
    rows = pid_m * BM + tl.arange(0, BM)
    cols = pid_n * BN + tl.arange(0, BN)
    ks = tl.arange(0, BK)
    a_ptrs = a_ptr + rows[:, None] * K + ks[None, :]
    b_ptrs = b_ptr + ks[:, None] * N + cols[None, :]
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for k in range(0, K, BK):
        a = tl.load(a_ptrs)
        b = tl.load(b_ptrs)
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
        a_ptrs += BK
        b_ptrs += BK * N
    acc = tl.maximum(acc, 0.0)
    c_ptrs = c_ptr + rows[:, None] * N + cols[None, :]
    tl.store(c_ptrs, acc)


def setup():
    torch.manual_seed(0)
    x = torch.randn(ROWS, DIM, device="cuda")
    weights = [torch.randn(DIM, DIM, device="cuda") * (2.0 / DIM) ** 0.5 for _ in range(LAYERS)]
    return {"x": x, "weights": weights}


def before(state):
    x = state["x"]
    grid = (ROWS // 64, DIM // 64)
    for w in state["weights"]:
        y = torch.empty_like(x)
        dense_kernel[grid](x, w, y, ROWS, DIM, DIM, BM=64, BN=64, BK=32, PRECISION="ieee", num_warps=4)
        x = y
    return x


def after(state):
    x = state["x"]
    grid = (ROWS // 128, DIM // 128)
    for w in state["weights"]:
        y = torch.empty_like(x)
        dense_kernel[grid](x, w, y, ROWS, DIM, DIM, BM=128, BN=128, BK=32, PRECISION="tf32", num_warps=8, num_stages=3)
        x = y
    return x


VARIANTS = {"before": before, "after": after}
TOLERANCE = 2e-2
