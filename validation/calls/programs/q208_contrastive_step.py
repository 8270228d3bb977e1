"""Training step of a two-tower retrieval model with an in-batch softmax loss."""
import copy
from types import SimpleNamespace

import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH = 12288


def tower():
    return nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 256))


class TwoTower(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = tower()
        self.item = tower()

    def forward(self, queries, items):
        q = F.normalize(self.query(queries), dim=-1)
        i = F.normalize(self.item(items), dim=-1)
        return q, i


def setup():
    torch.manual_seed(0)
    base = TwoTower().cuda()
    state = SimpleNamespace()
    for name in ("hand", "fused", "copied"):
        model = copy.deepcopy(base)
        setattr(state, name, model)
        setattr(state, name + "_opt", torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True))
    state.queries = torch.randn(BATCH, 512, device="cuda")
    state.items = torch.randn(BATCH, 512, device="cuda")
    state.targets = torch.arange(BATCH, device="cuda")
    return state


def loss_by_hand(state):
    state.hand_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        q, i = state.hand(state.queries, state.items)
        logits = torch.mm(q, i.t()) / 0.07
    logits = logits.float()
    probabilities = torch.softmax(logits, dim=1)
    one_hot = F.one_hot(state.targets, BATCH).float()
    loss = -(one_hot * torch.log(probabilities + 1e-12)).sum(dim=1).mean()
    loss.backward()
    state.hand_opt.step()
    return loss.detach()


def loss_operator(state):
    state.fused_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        q, i = state.fused(state.queries, state.items)
        logits = torch.mm(q, i.t()) / 0.07
    loss = F.cross_entropy(logits.float(), state.targets)
    loss.backward()
    state.fused_opt.step()
    return loss.detach()


def loss_operator_contiguous(state):
    state.copied_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        q, i = state.copied(state.queries, state.items)
        columns = i.t().contiguous()
        logits = torch.mm(q, columns) / 0.07
    loss = F.cross_entropy(logits.float(), state.targets)
    loss.backward()
    state.copied_opt.step()
    return loss.detach()


VARIANTS = {
    "loss_by_hand": loss_by_hand,
    "loss_operator": loss_operator,
    "loss_operator_contiguous": loss_operator_contiguous,
}
TOLERANCE = 2e-2
