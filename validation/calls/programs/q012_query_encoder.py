"""Encoder of one long query: four wide layers with a T5-like relative position bias, bfloat16 compute."""
import torch
import torch.nn.functional as F

T, DIM, HEADS, LAYERS, BUCKETS = 1024, 4096, 32, 4, 64


def setup():
    torch.manual_seed(0)
    layers = []
    for _ in range(LAYERS):
        shapes = {"qkv": (3 * DIM, DIM), "out": (DIM, DIM), "up": (4 * DIM, DIM), "down": (DIM, 4 * DIM)}
        layers.append({k: torch.randn(s, device="cuda") * s[1] ** -0.5 for k, s in shapes.items()})
    half = [{k: w.to(torch.bfloat16) for k, w in layer.items()} for layer in layers]
    table = torch.randn(BUCKETS, HEADS, device="cuda")
    x = torch.randn(1, T, DIM, device="cuda", dtype=torch.bfloat16)
    return {"layers": layers, "half": half, "table": table, "x": x}


def position_bias(table):
    pos = torch.arange(T, device=table.device)
    distance = pos[None, :] - pos[:, None]
    near = distance.abs().clamp(min=1).float()
    bucket = (torch.log(near) * 4.5).long().clamp(max=BUCKETS // 2 - 1)
    bucket = torch.where(distance > 0, bucket + BUCKETS // 2, bucket)
    bias = F.embedding(bucket, table)
    bias = bias.permute(2, 0, 1).contiguous()
    return bias.to(torch.bfloat16).unsqueeze(0)


def norm(x):
    return F.layer_norm(x, (DIM,))


def heads(y):
    qkv = y.view(1, T, 3, HEADS, DIM // HEADS)
    q, k, v = qkv.unbind(2)
    return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)


@torch.no_grad()
def before(state):
    x = state["x"]
    for layer in state["layers"]:
        w_qkv = layer["qkv"].to(x.dtype)
        w_out = layer["out"].to(x.dtype)
        w_up = layer["up"].to(x.dtype)
        w_down = layer["down"].to(x.dtype)
        q, k, v = heads(F.linear(norm(x), w_qkv))
        mask = position_bias(state["table"])
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + F.linear(y.transpose(1, 2).reshape(1, T, DIM), w_out)
        x = x + F.linear(F.gelu(F.linear(norm(x), w_up)), w_down)
    return x


@torch.no_grad()
def half(state):
    x = state["x"]
    for layer in state["half"]:
        q, k, v = heads(F.linear(norm(x), layer["qkv"]))
        bias = position_bias(state["table"])
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + F.linear(y.transpose(1, 2).reshape(1, T, DIM), layer["out"])
        x = x + F.linear(F.gelu(F.linear(norm(x), layer["up"])), layer["down"])
    return x


@torch.no_grad()
def once(state):
    x = state["x"]
    shared = position_bias(state["table"])
    for layer in state["half"]:
        q, k, v = heads(F.linear(norm(x), layer["qkv"]))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=shared)
        x = x + F.linear(y.transpose(1, 2).reshape(1, T, DIM), layer["out"])
        x = x + F.linear(F.gelu(F.linear(norm(x), layer["up"])), layer["down"])
    return x


VARIANTS = {"before": before, "half": half, "once": once}
TOLERANCE = 2e-2
