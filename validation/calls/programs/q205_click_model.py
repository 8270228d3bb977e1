"""Training step of a DLRM-like click model with 16 categorical features."""
import copy
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

TABLES = 16
ROWS = 50_000
DIM = 64
BATCH = 32768


class Dense(nn.Module):
    def __init__(self):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(13, 256), nn.ReLU(), nn.Linear(256, DIM), nn.ReLU())
        self.top = nn.Sequential(nn.Linear((TABLES + 1) ** 2 + DIM, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, numbers, looked_up):
        dense = self.bottom(numbers)
        features = torch.cat([dense.unsqueeze(1), looked_up], dim=1)
        inter = torch.bmm(features, features.transpose(1, 2))
        top_in = torch.cat([inter.flatten(1), dense], dim=1)
        return self.top(top_in).squeeze(1)


class ManyTables(nn.Module):
    def __init__(self, dense, weight):
        super().__init__()
        self.dense = dense
        self.tables = nn.ModuleList([nn.Embedding(ROWS, DIM) for _ in range(TABLES)])
        with torch.no_grad():
            for i, table in enumerate(self.tables):
                table.weight.copy_(weight[i * ROWS:(i + 1) * ROWS])

    def forward(self, numbers, categories):
        rows = []
        for i, table in enumerate(self.tables):
            rows.append(table(categories[:, i]))
        return self.dense(numbers, torch.stack(rows, dim=1))


class OneTable(nn.Module):
    def __init__(self, dense, weight):
        super().__init__()
        self.dense = dense
        self.table = nn.Embedding(TABLES * ROWS, DIM)
        self.register_buffer("offsets", torch.arange(TABLES) * ROWS)
        with torch.no_grad():
            self.table.weight.copy_(weight)

    def forward(self, numbers, categories):
        rows = self.table(categories + self.offsets)
        return self.dense(numbers, rows)


class PlainAdam:
    def __init__(self, parameters, lr=1e-6):
        self.parameters = list(parameters)
        self.lr = lr
        self.t = 0
        self.first = [torch.zeros_like(p) for p in self.parameters]
        self.second = [torch.zeros_like(p) for p in self.parameters]

    def zero_grad(self):
        for p in self.parameters:
            p.grad = None

    @torch.no_grad()
    def step(self):
        self.t += 1
        for k, p in enumerate(self.parameters):
            self.first[k] = 0.9 * self.first[k] + 0.1 * p.grad
            self.second[k] = 0.999 * self.second[k] + 0.001 * p.grad ** 2
            corrected = self.first[k] / (1 - 0.9 ** self.t)
            scale = torch.sqrt(self.second[k] / (1 - 0.999 ** self.t)) + 1e-8
            p.sub_(self.lr * corrected / scale)


def setup():
    torch.manual_seed(0)
    with torch.device("cuda"):
        dense = Dense()
        weight = 0.05 * torch.randn(TABLES * ROWS, DIM)
        many = ManyTables(copy.deepcopy(dense), weight)
        one = OneTable(copy.deepcopy(dense), weight)
        hand = OneTable(copy.deepcopy(dense), weight)
    return SimpleNamespace(
        many=many,
        one=one,
        hand=hand,
        hand_opt=PlainAdam(hand.parameters()),
        many_opt=torch.optim.Adam(many.parameters(), lr=1e-6, fused=True),
        one_opt=torch.optim.Adam(one.parameters(), lr=1e-6, fused=True),
        numbers=torch.randn(BATCH, 13, device="cuda"),
        categories=torch.randint(0, ROWS, (BATCH, TABLES), device="cuda"),
        clicks=(torch.rand(BATCH, device="cuda") < 0.2).float(),
    )


def table_by_table(state):
    torch.set_float32_matmul_precision("high")
    state.many_opt.zero_grad(set_to_none=True)
    logits = state.many(state.numbers, state.categories)
    loss = F.binary_cross_entropy_with_logits(logits, state.clicks)
    loss.backward()
    state.many_opt.step()
    torch.set_float32_matmul_precision("highest")
    return loss.detach()


def one_table(state):
    torch.set_float32_matmul_precision("high")
    state.one_opt.zero_grad(set_to_none=True)
    logits = state.one(state.numbers, state.categories)
    loss = F.binary_cross_entropy_with_logits(logits, state.clicks)
    loss.backward()
    state.one_opt.step()
    torch.set_float32_matmul_precision("highest")
    return loss.detach()


def one_table_plain_adam(state):
    torch.set_float32_matmul_precision("high")
    state.hand_opt.zero_grad()
    logits = state.hand(state.numbers, state.categories)
    loss = F.binary_cross_entropy_with_logits(logits, state.clicks)
    loss.backward()
    state.hand_opt.step()
    torch.set_float32_matmul_precision("highest")
    return loss.detach()


VARIANTS = {
    "table_by_table": table_by_table,
    "one_table_plain_adam": one_table_plain_adam,
    "one_table": one_table,
}
TOLERANCE = 2e-2
