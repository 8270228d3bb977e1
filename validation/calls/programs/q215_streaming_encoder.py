"""Streaming inference of a 40-layer encoder on one chunk of 64 frames, eager and compiled."""
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

DIM = 512
HEADS = 8


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(DIM)
        self.qkv = nn.Linear(DIM, 3 * DIM)
        self.out = nn.Linear(DIM, DIM)
        self.norm2 = nn.LayerNorm(DIM)
        self.up = nn.Linear(DIM, 4 * DIM)
        self.down = nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        b, t, _ = x.shape
        qkv = self.qkv(self.norm1(x)).view(b, t, 3, HEADS, DIM // HEADS)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(a.transpose(1, 2).reshape(b, t, DIM))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


def setup():
    torch.manual_seed(0)
    with torch.device("cuda"):
        net = nn.Sequential(*[Layer() for _ in range(40)])
    net = net.to(torch.bfloat16).eval()
    chunk = torch.randn(1, 64, DIM, device="cuda").to(torch.bfloat16)
    default = torch.compile(net)
    reduced = torch.compile(net, mode="reduce-overhead")
    return SimpleNamespace(net=net, default=default, reduced=reduced, chunk=chunk)


@torch.no_grad()
def eager(state):
    encoded = state.net(state.chunk)
    return encoded.float()


@torch.no_grad()
def compiled(state):
    encoded = state.default(state.chunk)
    return encoded.float()


@torch.no_grad()
def compiled_graphs(state):
    encoded = state.reduced(state.chunk)
    return encoded.float()


VARIANTS = {"eager": eager, "compiled": compiled, "compiled_graphs": compiled_graphs}
TOLERANCE = 5e-2
