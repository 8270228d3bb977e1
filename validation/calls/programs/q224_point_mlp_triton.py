"""Three linear layers of width 64 with ReLU over eight million points, each in a Triton kernel."""
from types import SimpleNamespace

import torch
import triton
import triton.language as tl

POINTS = 8_388_608
LAYERS = 3
BLOCK = 128


@triton.jit
def linear_relu(x_ptr, w_ptr, b_ptr, y_ptr, stride_wk, stride_wn, PRECISION: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, WIDTH)
    x = tl.load(x_ptr + rows[:, None] * WIDTH + columns[None, :])
    w = tl.load(w_ptr + columns[:, None] * stride_wk + columns[None, :] * stride_wn)
    b = tl.load(b_ptr + columns)
    y = tl.dot(x, w, input_precision=PRECISION) + b[None, :]
    y = tl.where(y > 0.0, y, 0.0)
    tl.store(y_ptr + rows[:, None] * WIDTH + columns[None, :], y)


@triton.jit
def mlp_relu(x_ptr, w_ptr, b_ptr, y_ptr, DEPTH: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    columns = tl.arange(0, WIDTH)
    h = tl.load(x_ptr + rows[:, None] * WIDTH + columns[None, :])
    for layer in range(DEPTH):
        w = tl.load(w_ptr + layer * WIDTH * WIDTH + columns[:, None] * WIDTH + columns[None, :])
        b = tl.load(b_ptr + layer * WIDTH + columns)
        h = tl.dot(h, w, input_precision="tf32") + b[None, :]
        h = tl.where(h > 0.0, h, 0.0)
    tl.store(y_ptr + rows[:, None] * WIDTH + columns[None, :], h)


def setup():
    torch.manual_seed(0)
    x = torch.randn(POINTS, 64, device="cuda")
    weights = []
    biases = []
    for _ in range(LAYERS):
        weights.append(torch.randn(64, 64, device="cuda") * (2.0 / 64) ** 0.5)
        biases.append(0.1 * torch.randn(64, device="cuda"))
    columns = [w.t().contiguous().t() for w in weights]
    all_weights = torch.stack(weights)
    all_biases = torch.stack(biases)
    chunks = x.chunk(4)
    return SimpleNamespace(
        x=x,
        chunks=chunks,
        weights=weights,
        columns=columns,
        biases=biases,
        all_weights=all_weights,
        all_biases=all_biases,
    )


def ieee(state):
    x = state.x
    for w, b in zip(state.weights, state.biases):
        y = torch.empty_like(x)
        linear_relu[(POINTS // BLOCK,)](x, w, b, y, w.stride(0), w.stride(1), "ieee", BLOCK, 64, num_warps=8)
        x = y
    return x


def tf32(state):
    x = state.x
    for w, b in zip(state.weights, state.biases):
        y = torch.empty_like(x)
        linear_relu[(POINTS // BLOCK,)](x, w, b, y, w.stride(0), w.stride(1), "tf32", BLOCK, 64, num_warps=8)
        x = y
    return x


def tf32_column_weights(state):
    x = state.x
    for w, b in zip(state.columns, state.biases):
        out = torch.empty_like(x)
        linear_relu[(POINTS // BLOCK,)](x, w, b, out, w.stride(0), w.stride(1), "tf32", BLOCK, 64, num_warps=8)
        x = out
    return x


def one_kernel(state):
    result = torch.empty_like(state.x)
    for x, y in zip(state.chunks, result.chunk(4)):
        mlp_relu[(x.shape[0] // BLOCK,)](x, state.all_weights, state.all_biases, y, LAYERS, BLOCK, 64, num_warps=8)
    return result


VARIANTS = {"ieee": ieee, "tf32": tf32, "one_kernel": one_kernel, "tf32_column_weights": tf32_column_weights}
TOLERANCE = 2e-2
