"""Prefill of four decoder blocks of a language model over a batch of prompts."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, HEADS, LAYERS = 2048, 16, 4


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.ln1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.ln2 = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def split(self, x):
        b, t, d = x.shape
        qkv = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, d // self.heads)
        q, k, v = qkv.unbind(2)
        return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    def feed_forward(self, x):
        h = F.gelu(self.up(self.ln2(x)))
        return x + self.down(h)


def attend_by_hand(q, k, v, hidden):
    scores = torch.matmul(q, k.transpose(-2, -1))
    scores = scores / math.sqrt(q.shape[-1])
    scores = scores.masked_fill(hidden, float("-inf"))
    weights = scores.softmax(-1)
    return torch.matmul(weights, v)


def setup():
    torch.manual_seed(0)
    with torch.device("cuda"):
        blocks = nn.ModuleList(Block(DIM, HEADS) for _ in range(LAYERS))
    blocks = blocks.to(torch.bfloat16).eval()
    x = torch.randn(4, 2048, DIM, device="cuda", dtype=torch.bfloat16)
    hidden = torch.ones(2048, 2048, dtype=torch.bool, device="cuda").triu(1)
    return {"blocks": blocks, "x": x, "hidden": hidden}


@torch.no_grad()
def before(state):
    x = state["x"]
    for block in state["blocks"]:
        q, k, v = block.split(x)
        y = attend_by_hand(q, k, v, state["hidden"])
        y = y.transpose(1, 2).reshape(x.shape)
        x = x + block.proj(y)
        x = block.feed_forward(x)
    return x


@torch.no_grad()
def after(state):
    x = state["x"]
    for block in state["blocks"]:
        q, k, v = block.split(x)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(x.shape)
        x = x + block.proj(y)
        x = block.feed_forward(x)
    return x


@torch.no_grad()
def contiguous_heads(state):
    x = state["x"]
    for block in state["blocks"]:
        q, k, v = block.split(x)
        q = q.contiguous()
        k = k.contiguous()
        v = v.contiguous()
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        y = y.transpose(1, 2).reshape(x.shape)
        x = x + block.proj(y)
        x = block.feed_forward(x)
    return x


VARIANTS = {"before": before, "after": after, "contiguous_heads": contiguous_heads}
TOLERANCE = 3e-2
