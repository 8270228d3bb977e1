"""Training step of an MLP forecaster on windows of a multivariate series."""
import copy
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

DIM = 512
BLOCKS = 4


class PlainNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        mean = x.mean(dim=-1, keepdim=True)
        var = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
        x_hat = (x - mean) / torch.sqrt(var + 1e-5)
        return x_hat * self.weight + self.bias


class Block(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.norm = norm(DIM)
        self.up = nn.Linear(DIM, 4 * DIM)
        self.down = nn.Linear(4 * DIM, DIM)

    def forward(self, x):
        h = self.norm(x)
        h = F.gelu(self.up(h))
        return x + self.down(h)


class Forecaster(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.blocks = nn.ModuleList([Block(norm) for _ in range(BLOCKS)])
        self.head = nn.Linear(DIM, 8)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def setup():
    torch.manual_seed(0)
    base = Forecaster(nn.LayerNorm).cuda()
    plain = Forecaster(PlainNorm).cuda()
    plain.load_state_dict(base.state_dict())
    state = SimpleNamespace()
    state.plain = plain
    state.plain_opt = torch.optim.AdamW(plain.parameters(), lr=1e-6, foreach=False)
    state.op = copy.deepcopy(base)
    state.op_opt = torch.optim.AdamW(state.op.parameters(), lr=1e-6, foreach=False)
    state.final = copy.deepcopy(base)
    state.final_opt = torch.optim.AdamW(state.final.parameters(), lr=1e-6, fused=True)
    state.windows = torch.randn(24, 512, DIM, device="cuda")
    state.future = torch.randn(24, 512, 8, device="cuda")
    return state


def plain_norm(state):
    state.plain_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        forecast = state.plain(state.windows)
    loss = F.smooth_l1_loss(forecast.float(), state.future)
    loss.backward()
    state.plain_opt.step()
    return loss.detach()


def layer_norm(state):
    state.op_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        forecast = state.op(state.windows)
    loss = F.smooth_l1_loss(forecast.float(), state.future)
    loss.backward()
    state.op_opt.step()
    return loss.detach()


def layer_norm_fused_optimizer(state):
    state.final_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        forecast = state.final(state.windows)
    loss = F.smooth_l1_loss(forecast.float(), state.future)
    loss.backward()
    state.final_opt.step()
    return loss.detach()


VARIANTS = {
    "plain_norm": plain_norm,
    "layer_norm": layer_norm,
    "layer_norm_fused_optimizer": layer_norm_fused_optimizer,
}
TOLERANCE = 2e-2
