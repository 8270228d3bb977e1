"""Attention inside very small sets (six neighbours, heads of eight) for 50k molecules, three rounds."""
from types import SimpleNamespace

import torch
import torch.nn.functional as F


def setup():
    torch.manual_seed(0)
    shape = (50_000, 16, 6, 8)
    q = torch.randn(shape, device="cuda")
    k = torch.randn(shape, device="cuda")
    v = torch.randn(shape, device="cuda")
    mix = torch.compile(neighbours_fused)
    return SimpleNamespace(q=q, k=k, v=v, mix=mix)


def neighbours(q, k, v):
    products = q.unsqueeze(-2) * k.unsqueeze(-3)
    scores = products.sum(dim=-1) * 8 ** -0.5
    weights = torch.softmax(scores, dim=-1)
    weighted = weights.unsqueeze(-1) * v.unsqueeze(-3)
    return weighted.sum(dim=-2)


def neighbours_fused(q, k, v):
    scores = (q.unsqueeze(-2) * k.unsqueeze(-3)).sum(dim=-1) * 8 ** -0.5
    weights = torch.softmax(scores, dim=-1)
    return (weights.unsqueeze(-1) * v.unsqueeze(-3)).sum(dim=-2)


@torch.no_grad()
def eager(state):
    h = state.q
    for _ in range(3):
        h = neighbours(h, state.k, state.v)
    return h


@torch.no_grad()
def compiled(state):
    h = state.q
    for _ in range(3):
        h = state.mix(h, state.k, state.v)
    return h


@torch.no_grad()
def sdpa(state):
    h = state.q
    for _ in range(3):
        h = F.scaled_dot_product_attention(h, state.k, state.v)
    return h


VARIANTS = {"eager": eager, "compiled": compiled, "sdpa": sdpa}
TOLERANCE = 1e-2
