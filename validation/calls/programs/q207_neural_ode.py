"""Forecast with a latent neural ODE: 20 RK4 steps of a small vector field."""
from types import SimpleNamespace

import torch
import torch.nn.functional as F

STEPS = 20
DT = 0.05


def setup():
    torch.manual_seed(0)
    w1 = torch.randn(64, 32, device="cuda") / 32 ** 0.5
    b1 = 0.1 * torch.randn(64, device="cuda")
    w2 = torch.randn(64, 64, device="cuda") / 64 ** 0.5
    b2 = 0.1 * torch.randn(64, device="cuda")
    w3 = torch.randn(32, 64, device="cuda") / 64 ** 0.5
    b3 = 0.1 * torch.randn(32, device="cuda")
    z = torch.randn(2048, 32, device="cuda")
    weights = (w1, b1, w2, b2, w3, b3)
    state = SimpleNamespace(weights=weights, z=z)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(side):
        for _ in range(2):
            integrate(z, weights)
    torch.cuda.current_stream().wait_stream(side)
    state.static_z = z.clone()
    state.graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(state.graph):
        state.static_out = integrate(state.static_z, weights)
    return state


def field(z, weights):
    w1, b1, w2, b2, w3, b3 = weights
    h = torch.tanh(F.linear(z, w1, b1))
    h = torch.tanh(F.linear(h, w2, b2))
    return F.linear(h, w3, b3)


def integrate(z, weights):
    for _ in range(STEPS):
        k1 = field(z, weights)
        k2 = field(torch.add(z, k1, alpha=DT / 2), weights)
        k3 = field(torch.add(z, k2, alpha=DT / 2), weights)
        k4 = field(torch.add(z, k3, alpha=DT), weights)
        z = z + (DT / 6) * (k1 + 2 * (k2 + k3) + k4)
    return z


@torch.no_grad()
def eager(state):
    return integrate(state.z, state.weights)


@torch.no_grad()
def eager_tf32(state):
    torch.set_float32_matmul_precision("high")
    z = integrate(state.z, state.weights)
    torch.set_float32_matmul_precision("highest")
    return z


@torch.no_grad()
def replayed(state):
    state.static_z.copy_(state.z)
    state.graph.replay()
    return state.static_out.clone()


VARIANTS = {"eager": eager, "eager_tf32": eager_tf32, "replayed": replayed}
TOLERANCE = 2e-2
