"""Training step of a wide MLP surrogate of a simulation, with Adam."""
import copy
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

WIDTH = 2048
LAYERS = 16
LR = 1e-6
BETA1 = 0.9
BETA2 = 0.999
EPS = 1e-8


class Surrogate(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


class HandAdam:
    def __init__(self, parameters):
        self.parameters = list(parameters)
        self.m = [torch.zeros_like(p) for p in self.parameters]
        self.v = [torch.zeros_like(p) for p in self.parameters]
        self.t = 0

    @torch.no_grad()
    def step(self):
        self.t += 1
        for p, m, v in zip(self.parameters, self.m, self.v):
            g = p.grad
            m.mul_(BETA1).add_(g, alpha=1 - BETA1)
            v.mul_(BETA2).addcmul_(g, g, value=1 - BETA2)
            m_hat = m / (1 - BETA1 ** self.t)
            v_hat = v / (1 - BETA2 ** self.t)
            update = m_hat / (torch.sqrt(v_hat) + EPS)
            p -= LR * update


def setup():
    torch.manual_seed(0)
    base = Surrogate().cuda()
    with torch.no_grad():
        for layer in base.layers:
            layer.weight.normal_(std=(2.0 / WIDTH) ** 0.5)
    state = SimpleNamespace()
    state.by_hand = copy.deepcopy(base)
    state.by_hand_opt = HandAdam(state.by_hand.parameters())
    state.squares = copy.deepcopy(base)
    state.squares_opt = torch.optim.Adam(state.squares.parameters(), lr=LR, betas=(BETA1, BETA2), eps=EPS, fused=True)
    state.fused = copy.deepcopy(base)
    state.fused_opt = torch.optim.Adam(state.fused.parameters(), lr=LR, betas=(BETA1, BETA2), eps=EPS, fused=True)
    state.x = torch.randn(4096, WIDTH, device="cuda")
    state.y = torch.randn(4096, WIDTH, device="cuda")
    return state


def hand_adam(state):
    for p in state.by_hand.parameters():
        p.grad = None
    with torch.autocast("cuda", dtype=torch.bfloat16):
        prediction = state.by_hand(state.x)
    loss = F.mse_loss(prediction.float(), state.y)
    loss.backward()
    state.by_hand_opt.step()
    return loss.detach()


def fused_adam(state):
    state.fused_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        prediction = state.fused(state.x)
    loss = F.mse_loss(prediction.float(), state.y)
    loss.backward()
    state.fused_opt.step()
    return loss.detach()


def plain_squares(state):
    state.squares_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        prediction = state.squares(state.x)
    loss = ((prediction.float() - state.y) ** 2).mean()
    loss.backward()
    state.squares_opt.step()
    return loss.detach()


VARIANTS = {"hand_adam": hand_adam, "fused_adam": fused_adam, "plain_squares": plain_squares}
TOLERANCE = 2e-2
