"""torch.compile: training step of a next-item model (embedding, four residual MLP blocks, output layer), AdamW."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

ITEMS, DIM, BLOCKS, BATCH, HISTORY, LR = 16000, 1024, 4, 4096, 4, 1e-6


class NextItem(nn.Module):
    def __init__(self):
        super().__init__()
        self.items = nn.Embedding(ITEMS, DIM)
        self.norms = nn.ModuleList(nn.LayerNorm(DIM) for _ in range(BLOCKS))
        self.ups = nn.ModuleList(nn.Linear(DIM, 4 * DIM) for _ in range(BLOCKS))
        self.downs = nn.ModuleList(nn.Linear(4 * DIM, DIM) for _ in range(BLOCKS))
        self.out = nn.Linear(DIM, ITEMS)

    def forward(self, history):
        x = self.items(history).mean(dim=1)
        for norm, up, down in zip(self.norms, self.ups, self.downs):
            x = x + down(F.gelu(up(norm(x))))
        return self.out(x)


class WithLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, history, target):
        logits = self.model(history).float()
        return F.cross_entropy(logits, target)


class WithHandLoss(nn.Module):
    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, history, target):
        logits = self.model(history).float()
        logp = logits - torch.logsumexp(logits, dim=1, keepdim=True)
        picked = logp.gather(1, target[:, None])
        return -picked.mean()


def setup():
    torch.manual_seed(0)
    with torch.device("cuda"):
        model = NextItem()
    state = {
        "history": torch.randint(0, ITEMS, (BATCH, HISTORY), device="cuda"),
        "target": torch.randint(0, ITEMS, (BATCH,), device="cuda"),
    }
    for name, wrapper in (("before", WithLoss), ("fused", WithLoss), ("hand_loss", WithHandLoss)):
        net = wrapper(copy.deepcopy(model))
        if name == "before":
            optimizer = torch.optim.AdamW(net.parameters(), lr=LR, foreach=False, fused=False)
        else:
            optimizer = torch.optim.AdamW(net.parameters(), lr=LR, fused=True)
        state[name] = (torch.compile(net), optimizer)
    return state


def before(state):
    net, loop_optimizer = state["before"]
    loop_optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = net(state["history"], state["target"])
    loss.backward()
    loop_optimizer.step()
    return loss.detach()


def fused(state):
    net, optimizer = state["fused"]
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = net(state["history"], state["target"])
    loss.backward()
    optimizer.step()
    return loss.detach()


def hand_loss(state):
    net, optimizer = state["hand_loss"]
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = net(state["history"], state["target"])
    loss.backward()
    optimizer.step()
    return loss.detach()


VARIANTS = {"before": before, "fused": fused, "hand_loss": hand_loss}
TOLERANCE = 2e-2
