"""Training step of a deep MLP with gradient clipping and AdamW, mixed precision."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

DEPTH, DIM, BATCH, LR, MAX_NORM = 14, 1024, 4096, 1e-6, 0.05


class DeepMLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(DIM, DIM) for _ in range(DEPTH))

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return x


def setup():
    torch.manual_seed(0)
    model = DeepMLP().cuda()
    state = {
        "x": torch.randn(BATCH, DIM, device="cuda", dtype=torch.bfloat16),
        "y": torch.rand(BATCH, DIM, device="cuda"),
    }
    for name in ("before", "fused", "after"):
        net = copy.deepcopy(model)
        if name == "before":
            optimizer = torch.optim.AdamW(net.parameters(), lr=LR, foreach=False, fused=False)
        else:
            optimizer = torch.optim.AdamW(net.parameters(), lr=LR, fused=True)
        state[name] = (net, optimizer)
    return state


def backward(net, x, y):
    with torch.autocast("cuda", dtype=torch.bfloat16):
        out = net(x)
    loss = F.mse_loss(out.float(), y)
    loss.backward()
    return loss.detach()


def clip_by_hand(params):
    total = 0.0
    for p in params:
        total += p.grad.norm().item() ** 2
    scale = MAX_NORM / (math.sqrt(total) + 1e-6)
    if scale < 1.0:
        for p in params:
            p.grad.mul_(scale)


def before(state):
    net, adamw_loop = state["before"]
    adamw_loop.zero_grad(set_to_none=True)
    loss = backward(net, state["x"], state["y"])
    clip_by_hand(list(net.parameters()))
    adamw_loop.step()
    return loss


def fused(state):
    net, adamw_fused = state["fused"]
    adamw_fused.zero_grad(set_to_none=True)
    loss = backward(net, state["x"], state["y"])
    clip_by_hand([p for p in net.parameters()])
    adamw_fused.step()
    return loss


def after(state):
    net, optimizer = state["after"]
    optimizer.zero_grad(set_to_none=True)
    loss = backward(net, state["x"], state["y"])
    torch.nn.utils.clip_grad_norm_(net.parameters(), MAX_NORM, foreach=True)
    optimizer.step()
    return loss


VARIANTS = {"before": before, "fused": fused, "after": after}
TOLERANCE = 2e-2
