"""torch.compile: a two-layer GRU written as a loop over 24 time steps, batch of 64."""
import torch

STEPS, BATCH, DIM = 24, 64, 512


def gru_layer(x, w_in, w_rec, bias):
    inputs = torch.matmul(x, w_in) + bias
    h = torch.zeros(x.shape[1], DIM, device=x.device, dtype=x.dtype)
    outputs = []
    for t in range(STEPS):
        rec = torch.matmul(h, w_rec)
        ri, zi, ni = inputs[t].chunk(3, dim=-1)
        rh, zh, nh = rec.chunk(3, dim=-1)
        r = torch.sigmoid(ri + rh)
        z = torch.sigmoid(zi + zh)
        n = torch.tanh(ni + r * nh)
        h = (1 - z) * n + z * h
        outputs.append(h)
    return torch.stack(outputs)


def network(x, layers):
    for w_in, w_rec, bias in layers:
        x = gru_layer(x, w_in, w_rec, bias)
    return x


compiled = torch.compile(network)
graphed = torch.compile(network, mode="reduce-overhead")


def setup():
    torch.manual_seed(0)
    layers = []
    for _ in range(2):
        w_in = torch.randn(DIM, 3 * DIM, device="cuda", dtype=torch.bfloat16) * DIM ** -0.5
        w_rec = torch.randn(DIM, 3 * DIM, device="cuda", dtype=torch.bfloat16) * DIM ** -0.5
        bias = torch.zeros(3 * DIM, device="cuda", dtype=torch.bfloat16)
        layers.append((w_in, w_rec, bias))
    x = torch.randn(STEPS, BATCH, DIM, device="cuda", dtype=torch.bfloat16)
    return {"x": x, "layers": layers}


@torch.no_grad()
def eager(state):
    return network(state["x"], state["layers"])


@torch.no_grad()
def before(state):
    y = compiled(state["x"], state["layers"])
    return y


@torch.no_grad()
def after(state):
    y = graphed(state["x"], state["layers"])
    return y.clone()


VARIANTS = {"eager": eager, "before": before, "after": after}
TOLERANCE = 4e-2
