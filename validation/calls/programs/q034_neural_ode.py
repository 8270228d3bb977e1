"""Sixteen Runge-Kutta steps of a small neural ODE for 256 trajectories."""
import torch

STEPS, BATCH, DIM, HIDDEN, DT = 16, 256, 64, 256, 0.05


def setup():
    torch.manual_seed(0)
    w1 = torch.randn(DIM, HIDDEN, device="cuda") * DIM ** -0.5
    w2 = torch.randn(HIDDEN, DIM, device="cuda") * HIDDEN ** -0.5
    b1 = torch.zeros(HIDDEN, device="cuda")
    b2 = torch.zeros(DIM, device="cuda")
    x = torch.randn(BATCH, DIM, device="cuda")
    state = {"params": (w1, b1, w2, b2), "x": x}

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        before(state)
        before(state)
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = before(state)
    state["graph"] = graph
    state["result"] = result
    return state


def derivative(x, params):
    w1, b1, w2, b2 = params
    h = torch.tanh(torch.addmm(b1, x, w1))
    return torch.addmm(b2, h, w2)


def runge_kutta(x, params):
    k1 = derivative(x, params)
    k2 = derivative(x + 0.5 * DT * k1, params)
    k3 = derivative(x + 0.5 * DT * k2, params)
    k4 = derivative(x + DT * k3, params)
    return x + DT / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)


@torch.no_grad()
def before(state):
    x = state["x"]
    for _ in range(STEPS):
        x = runge_kutta(x, state["params"])
    return x


@torch.no_grad()
def graph(state):
    state["graph"].replay()
    return state["result"].clone()


@torch.no_grad()
def tf32(state):
    torch.set_float32_matmul_precision("high")
    y = state["x"]
    for _ in range(STEPS):
        y = runge_kutta(y, state["params"])
    torch.set_float32_matmul_precision("highest")
    return y


VARIANTS = {"before": before, "graph": graph, "tf32": tf32}
TOLERANCE = 2e-2
