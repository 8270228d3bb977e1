"""Six pre-norm residual MLP blocks over a batch of token features (inference, bfloat16)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

DIM, LAYERS, TOKENS = 2048, 6, 16384


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(DIM))
        self.shift = nn.Parameter(torch.zeros(DIM))
        self.up = nn.Linear(DIM, 2 * DIM)
        self.down = nn.Linear(2 * DIM, DIM)

    def norm_by_hand(self, x):
        x32 = x.float()
        mean = x32.mean(-1, keepdim=True)
        centred = x32 - mean
        var = (centred ** 2).mean(-1, keepdim=True)
        y = centred / torch.sqrt(var + 1e-5)
        y = y * self.scale + self.shift
        return y.to(x.dtype)

    def mlp(self, h):
        h = self.up(h)
        h = F.gelu(h)
        return self.down(h)


def setup():
    torch.manual_seed(0)
    with torch.device("cuda"):
        blocks = nn.ModuleList(Block() for _ in range(LAYERS))
    blocks = blocks.to(torch.bfloat16).eval()
    x = torch.randn(TOKENS, DIM, device="cuda", dtype=torch.bfloat16)
    return {"blocks": blocks, "x": x}


@torch.no_grad()
def before(state):
    x = state["x"]
    for block in state["blocks"]:
        h = block.norm_by_hand(x)
        x = x + block.mlp(h)
    return x


@torch.no_grad()
def after(state):
    x = state["x"]
    for block in state["blocks"]:
        h = F.layer_norm(x, (DIM,), block.scale, block.shift, 1e-5)
        x = x + block.mlp(h)
    return x


@torch.no_grad()
def in_place(state):
    x = state["x"]
    for block in state["blocks"]:
        h = F.layer_norm(x, (DIM,), block.scale, block.shift, 1e-5)
        h = block.mlp(h)
        x = h.add_(x)
    return x


VARIANTS = {"before": before, "after": after, "in_place": in_place}
TOLERANCE = 3e-2
