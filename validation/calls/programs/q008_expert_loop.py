"""Four mixture-of-experts layers whose tokens are already dispatched to 32 experts (capacity 512)."""
import torch
import torch.nn.functional as F

LAYERS, EXPERTS, CAPACITY, DIM, HIDDEN = 4, 32, 512, 2048, 2048


def setup():
    torch.manual_seed(0)
    layers = []
    for _ in range(LAYERS):
        w1 = torch.randn(EXPERTS, DIM, HIDDEN, device="cuda", dtype=torch.bfloat16) * DIM ** -0.5
        w2 = torch.randn(EXPERTS, HIDDEN, DIM, device="cuda", dtype=torch.bfloat16) * HIDDEN ** -0.5
        layers.append((w1, w2))
    x = torch.randn(EXPERTS, CAPACITY, DIM, device="cuda", dtype=torch.bfloat16)
    return {"layers": layers, "x": x}


@torch.no_grad()
def before(state):
    x = state["x"]
    for w1, w2 in state["layers"]:
        outputs = []
        for e in range(EXPERTS):
            h = torch.mm(x[e], w1[e])
            h = F.gelu(h)
            outputs.append(torch.mm(h, w2[e]))
        x = torch.stack(outputs)
    return x


@torch.no_grad()
def after(state):
    x = state["x"]
    for w1, w2 in state["layers"]:
        h = torch.bmm(x, w1)
        h = F.gelu(h)
        x = torch.bmm(h, w2)
    return x


@torch.no_grad()
def in_halves(state):
    half = EXPERTS // 2
    x = state["x"]
    for w1, w2 in state["layers"]:
        parts = []
        for s in (slice(0, half), slice(half, EXPERTS)):
            h = torch.bmm(x[s], w1[s])
            h = F.gelu(h)
            parts.append(torch.bmm(h, w2[s]))
        x = torch.cat(parts)
    return x


VARIANTS = {"before": before, "after": after, "halves": in_halves}
TOLERANCE = 3e-2
