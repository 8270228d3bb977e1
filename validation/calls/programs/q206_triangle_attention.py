"""Triangle attention over a pair representation (structure prediction), three blocks, bf16 inference."""
from types import SimpleNamespace

import torch
import torch.nn.functional as F

LENGTH = 384
CHANNELS = 128
HEADS = 4
HEAD = 32


def setup():
    torch.manual_seed(0)

    def weight(rows, columns):
        w = torch.randn(rows, columns, device="cuda") / columns ** 0.5
        return w.to(torch.bfloat16)

    blocks = []
    for _ in range(3):
        blocks.append(SimpleNamespace(
            gamma=torch.rand(CHANNELS, device="cuda") + 0.5,
            beta=0.1 * torch.randn(CHANNELS, device="cuda"),
            gamma16=None,
            beta16=None,
            qkvg=weight(4 * HEADS * HEAD, CHANNELS),
            bias=weight(HEADS, CHANNELS),
            out=weight(CHANNELS, HEADS * HEAD),
        ))
    for block in blocks:
        block.gamma16 = block.gamma.to(torch.bfloat16)
        block.beta16 = block.beta.to(torch.bfloat16)
    pair = torch.randn(LENGTH, LENGTH, CHANNELS, device="cuda").to(torch.bfloat16)
    return SimpleNamespace(blocks=blocks, pair=pair)


def heads(x):
    return x.view(LENGTH, LENGTH, HEADS, HEAD).transpose(1, 2)


def norm_first(pair, block):
    x = pair.float()
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, unbiased=False)
    x = (x - mean) * torch.rsqrt(var + 1e-5)
    x = x * block.gamma + block.beta
    return x.to(pair.dtype)


def norm_second(pair, block):
    y = pair.float()
    centre = y.mean(-1, keepdim=True)
    spread = y.var(-1, keepdim=True, unbiased=False)
    y = (y - centre) * torch.rsqrt(spread + 1e-5)
    y = y * block.gamma + block.beta
    return y.to(pair.dtype)


def project(x, block):
    q, k, v, g = F.linear(x, block.qkvg).chunk(4, dim=-1)
    bias = F.linear(x, block.bias).permute(2, 0, 1).unsqueeze(0).contiguous()
    return heads(q), heads(k), heads(v), g, bias


def finish(o, g, pair, block):
    o = o.transpose(1, 2).reshape(LENGTH, LENGTH, HEADS * HEAD)
    o = o * torch.sigmoid(g)
    return pair + F.linear(o, block.out)


@torch.no_grad()
def by_hand(state):
    pair = state.pair
    for block in state.blocks:
        x = norm_first(pair, block)
        q, k, v, g, bias = project(x, block)
        scores = torch.matmul(q * HEAD ** -0.5, k.transpose(-1, -2))
        scores = scores + bias
        weights = torch.softmax(scores.float(), dim=-1)
        o = torch.matmul(weights.to(v.dtype), v)
        pair = finish(o, g, pair, block)
    return pair


@torch.no_grad()
def sdpa(state):
    pair = state.pair
    for block in state.blocks:
        x = norm_second(pair, block)
        q, k, v, g, bias = project(x, block)
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        pair = finish(o, g, pair, block)
    return pair


@torch.no_grad()
def sdpa_layer_norm(state):
    pair = state.pair
    for block in state.blocks:
        x = F.layer_norm(pair, (CHANNELS,), block.gamma16, block.beta16, 1e-5)
        q, k, v, g, bias = project(x, block)
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        pair = finish(o, g, pair, block)
    return pair


VARIANTS = {"by_hand": by_hand, "sdpa": sdpa, "sdpa_layer_norm": sdpa_layer_norm}
TOLERANCE = 3e-2
