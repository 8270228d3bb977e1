"""Training step of a wide MLP for regression, mixed precision, Adam."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

LR, B1, B2, EPS = 1e-6, 0.9, 0.999, 1e-8


class HandAdam:
    def __init__(self, params):
        self.params = list(params)
        self.m = [torch.zeros_like(p) for p in self.params]
        self.v = [torch.zeros_like(p) for p in self.params]
        self.t = 0

    @torch.no_grad()
    def step(self):
        self.t += 1
        c1 = 1 - B1 ** self.t
        c2 = 1 - B2 ** self.t
        for p, m, v in zip(self.params, self.m, self.v):
            g = p.grad
            m.copy_(B1 * m + (1 - B1) * g)
            v.copy_(B2 * v + (1 - B2) * g * g)
            m_hat = m / c1
            v_hat = v / c2
            update = m_hat / (v_hat.sqrt() + EPS)
            p.sub_(LR * update)


def make_model():
    layers = []
    for _ in range(5):
        layers.append(nn.Linear(4096, 4096))
        layers.append(nn.GELU())
    layers.append(nn.Linear(4096, 64))
    return nn.Sequential(*layers)


def setup():
    torch.manual_seed(0)
    with torch.device("cuda"):
        a = make_model()
    b = copy.deepcopy(a)
    c = copy.deepcopy(a)
    d = copy.deepcopy(a)
    x = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    y = torch.randn(4096, 64, device="cuda")
    return {
        "a": a, "hand": HandAdam(a.parameters()),
        "b": b, "loop": torch.optim.Adam(b.parameters(), lr=LR, foreach=False, fused=False),
        "c": c, "fused": torch.optim.Adam(c.parameters(), lr=LR, fused=True),
        "d": d, "fused_d": torch.optim.Adam(d.parameters(), lr=LR, fused=True),
        "x": x, "y": y, "history": [],
    }


def gradients(model, x, y):
    for p in model.parameters():
        p.grad = None
    with torch.autocast("cuda", dtype=torch.bfloat16):
        out = model(x)
    loss = F.mse_loss(out.float(), y)
    loss.backward()
    return loss.detach()


def before(state):
    loss = gradients(state["a"], state["x"], state["y"])
    state["hand"].step()
    return loss


def loop(state):
    loss = gradients(state["b"], state["x"], state["y"])
    state["loop"].step()
    return loss


def after(state):
    loss = gradients(state["c"], state["x"], state["y"])
    state["fused"].step()
    return loss


def logged(state):
    loss = gradients(state["d"], state["x"], state["y"])
    state["fused_d"].step()
    state["history"].append(loss.item())
    return loss


VARIANTS = {"before": before, "loop": loop, "after": after, "logged": logged}
TOLERANCE = 2e-2
