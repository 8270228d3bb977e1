"""Forty iterations of conjugate gradients on a 27-point stencil matrix (CSR)."""
from types import SimpleNamespace

import torch

SIDE = 112
ITERATIONS = 40


def setup():
    torch.manual_seed(0)
    n = SIDE ** 3
    index = torch.arange(n, device="cuda")
    z = index // (SIDE * SIDE)
    y = (index // SIDE) % SIDE
    x = index % SIDE
    columns = []
    values = []
    for dz in (-1, 0, 1):
        for dy in (-1, 0, 1):
            for dx in (-1, 0, 1):
                column = ((z + dz) % SIDE) * SIDE * SIDE + ((y + dy) % SIDE) * SIDE + (x + dx) % SIDE
                columns.append(column)
                centre = dz == 0 and dy == 0 and dx == 0
                values.append(torch.full((n,), 27.0 if centre else -1.0, device="cuda"))
    columns = torch.stack(columns, dim=1)
    values = torch.stack(values, dim=1)
    columns, order = torch.sort(columns, dim=1)
    values = torch.gather(values, 1, order)
    crow = torch.arange(0, 27 * n + 1, 27, device="cuda", dtype=torch.int32)
    matrix = torch.sparse_csr_tensor(crow, columns.reshape(-1).to(torch.int32), values.reshape(-1), (n, n))
    rhs = torch.randn(n, device="cuda")
    return SimpleNamespace(matrix=matrix, rhs=rhs)


@torch.no_grad()
def scalars_on_host(state):
    x = torch.zeros_like(state.rhs)
    r = state.rhs.clone()
    p = r.clone()
    rr = torch.dot(r, r).item()
    for _ in range(ITERATIONS):
        if rr < 1e-30:
            break
        q = torch.mv(state.matrix, p)
        alpha = rr / torch.dot(p, q).item()
        x.add_(p, alpha=alpha)
        r.sub_(q, alpha=alpha)
        rr_new = torch.dot(r, r).item()
        p.mul_(rr_new / rr).add_(r)
        rr = rr_new
    return x


@torch.no_grad()
def scalars_on_device(state):
    x = torch.zeros_like(state.rhs)
    r = state.rhs.clone()
    p = r.clone()
    rr = torch.dot(r, r)
    for _ in range(ITERATIONS):
        q = torch.mv(state.matrix, p)
        alpha = rr / torch.dot(p, q)
        x.addcmul_(p, alpha)
        r.addcmul_(q, alpha, value=-1.0)
        rr_new = torch.dot(r, r)
        p.mul_(rr_new / rr).add_(r)
        rr = rr_new
    return x


VARIANTS = {"scalars_on_host": scalars_on_host, "scalars_on_device": scalars_on_device}
TOLERANCE = 2e-2
