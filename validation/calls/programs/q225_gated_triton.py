"""Squared-ReLU gates of fourteen bf16 activation pairs with a Triton kernel."""
from types import SimpleNamespace

import torch
import triton
import triton.language as tl

ROWS = 8192
COLUMNS = 8192
PAIRS = 14
BLOCK = 2048


@triton.jit
def gate_kernel(gate_ptr, up_ptr, out_ptr, n, SIZE: tl.constexpr):
    offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = offsets < n
    g = tl.load(gate_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    u = tl.load(up_ptr + offsets, mask=inside, other=0.0).to(tl.float32)
    r = tl.where(g > 0.0, g, 0.0)
    tl.store(out_ptr + offsets, r * r * u, mask=inside)


@triton.jit
def gate_kernel_native(gate_ptr, up_ptr, out_ptr, n, SIZE: tl.constexpr):
    offsets = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    inside = offsets < n
    g = tl.load(gate_ptr + offsets, mask=inside)
    u = tl.load(up_ptr + offsets, mask=inside)
    zero = tl.zeros_like(g)
    r = tl.where(g > zero, g, zero)
    tl.store(out_ptr + offsets, r * r * u, mask=inside)


def setup():
    torch.manual_seed(0)
    pairs = []
    for _ in range(PAIRS):
        gate = torch.randn(ROWS, COLUMNS, device="cuda", dtype=torch.bfloat16)
        up = torch.randn(ROWS, COLUMNS, device="cuda", dtype=torch.bfloat16)
        pairs.append((gate, up))
    return SimpleNamespace(pairs=pairs)


def grid(n):
    return (triton.cdiv(n, BLOCK),)


def through_float(state):
    outputs = []
    for gate, up in state.pairs:
        wide_gate = gate.float()
        wide_up = up.float()
        wide_out = torch.empty_like(wide_gate)
        n = wide_out.numel()
        gate_kernel[grid(n)](wide_gate, wide_up, wide_out, n, BLOCK)
        outputs.append(wide_out.to(torch.bfloat16))
    return outputs[0], outputs[-1]


def direct(state):
    outputs = []
    for gate, up in state.pairs:
        out = torch.empty_like(gate)
        n = out.numel()
        gate_kernel[grid(n)](gate, up, out, n, BLOCK)
        outputs.append(out)
    return outputs[0], outputs[-1]


def direct_native(state):
    outputs = []
    for gate, up in state.pairs:
        y = torch.empty_like(gate)
        n = y.numel()
        gate_kernel_native[grid(n)](gate, up, y, n, BLOCK)
        outputs.append(y)
    return outputs[0], outputs[-1]


VARIANTS = {"through_float": through_float, "direct": direct, "direct_native": direct_native}
TOLERANCE = 3e-2
