"""torch.compile: two decoder blocks with RMS normalisation on two sequences of 4096 tokens, bfloat16."""
import math

import torch
import torch.nn.functional as F

BATCH, T, HEADS, HEAD, LAYERS = 2, 4096, 16, 128, 2
DIM = HEADS * HEAD


def rms_by_hand(x, scale):
    x32 = x.float()
    inverse = torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + 1e-6)
    return (x32 * inverse).to(x.dtype) * scale


def rms_operator(x, scale):
    return F.rms_norm(x, (DIM,), scale, 1e-6)


def heads(x, w):
    qkv = F.linear(x, w).view(BATCH, T, 3, HEADS, HEAD)
    q, k, v = qkv.unbind(2)
    return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)


def attention_by_hand(q, k, v, hidden):
    scores = torch.matmul(q, k.transpose(-2, -1)).float() / math.sqrt(HEAD)
    scores = torch.where(hidden, -1e9, scores)
    weights = torch.softmax(scores, dim=-1).to(q.dtype)
    return torch.matmul(weights, v)


def attention_operator(q, k, v, hidden):
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def decoder(x, layers, hidden, norm, attention):
    for layer in layers:
        q, k, v = heads(norm(x, layer["scale1"]), layer["qkv"])
        y = attention(q, k, v, hidden)
        x = x + F.linear(y.transpose(1, 2).reshape(BATCH, T, DIM), layer["out"])
        h = F.silu(F.linear(norm(x, layer["scale2"]), layer["up"]))
        x = x + F.linear(h, layer["down"])
    return x


@torch.compile
def decoder_by_hand(x, layers, hidden):
    return decoder(x, layers, hidden, rms_by_hand, attention_by_hand)


@torch.compile
def decoder_sdpa(x, layers, hidden):
    return decoder(x, layers, hidden, rms_by_hand, attention_operator)


@torch.compile
def decoder_sdpa_rms(x, layers, hidden):
    return decoder(x, layers, hidden, rms_operator, attention_operator)


def setup():
    torch.manual_seed(0)

    def weight(o, i):
        return torch.randn(o, i, device="cuda", dtype=torch.bfloat16) * i ** -0.5

    layers = [{"qkv": weight(3 * DIM, DIM), "out": weight(DIM, DIM),
               "up": weight(4 * DIM, DIM), "down": weight(DIM, 4 * DIM),
               "scale1": torch.ones(DIM, device="cuda", dtype=torch.bfloat16),
               "scale2": torch.ones(DIM, device="cuda", dtype=torch.bfloat16)} for _ in range(LAYERS)]
    x = torch.randn(BATCH, T, DIM, device="cuda", dtype=torch.bfloat16)
    hidden = torch.ones(T, T, dtype=torch.bool, device="cuda").triu(1)
    return {"layers": layers, "x": x, "hidden": hidden}


@torch.no_grad()
def before(state):
    return decoder_by_hand(state["x"], state["layers"], state["hidden"])


@torch.no_grad()
def after(state):
    return decoder_sdpa(state["x"], state["layers"], state["hidden"])


@torch.no_grad()
def rms(state):
    return decoder_sdpa_rms(state["x"], state["layers"], state["hidden"])


VARIANTS = {"before": before, "after": after, "rms": rms}
TOLERANCE = 3e-2
