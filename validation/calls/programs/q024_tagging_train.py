"""Training step of a multi-label tagger: one wide linear layer, 16384 tags, binary cross entropy, SGD."""
import torch
import torch.nn as nn
import torch.nn.functional as F

BATCH, DIM, TAGS, LR = 4096, 2048, 16384, 1e-3


def setup():
    torch.manual_seed(0)
    x = torch.randn(BATCH, DIM, device="cuda", dtype=torch.bfloat16)
    y = (torch.rand(BATCH, TAGS, device="cuda") < 0.02).float()
    first = nn.Linear(DIM, TAGS, device="cuda", dtype=torch.bfloat16)
    state = {"x": x.requires_grad_(), "y": y}
    for name in ("before", "operator", "compiled", "fused_sgd"):
        head = nn.Linear(DIM, TAGS, device="cuda", dtype=torch.bfloat16)
        head.load_state_dict(first.state_dict())
        fused = name == "fused_sgd"
        sgd = torch.optim.SGD(head.parameters(), lr=LR, foreach=not fused, fused=fused)
        state[name] = (head, sgd)
    return state


def loss_by_hand(logits, y):
    p = torch.sigmoid(logits.float())
    positive = y * torch.log(p + 1e-8)
    negative = (1 - y) * torch.log(1 - p + 1e-8)
    return -(positive + negative).mean()


def loss_operator(logits, y):
    return F.binary_cross_entropy_with_logits(logits.float(), y)


loss_compiled = torch.compile(loss_operator)


def before(state):
    head, sgd = state["before"]
    sgd.zero_grad(set_to_none=True)
    state["x"].grad = None
    logits = head(state["x"])
    loss = loss_by_hand(logits, state["y"])
    loss.backward()
    sgd.step()
    return loss.detach()


def operator(state):
    head, sgd = state["operator"]
    sgd.zero_grad(set_to_none=True)
    state["x"].grad = None
    logits = head(state["x"])
    loss = loss_operator(logits, state["y"])
    loss.backward()
    sgd.step()
    return loss.detach()


def compiled(state):
    head, sgd = state["compiled"]
    sgd.zero_grad(set_to_none=True)
    state["x"].grad = None
    logits = head(state["x"])
    loss = loss_compiled(logits, state["y"])
    loss.backward()
    sgd.step()
    return loss.detach()


def fused_sgd(state):
    head, sgd = state["fused_sgd"]
    sgd.zero_grad(set_to_none=True)
    state["x"].grad = None
    logits = head(state["x"])
    loss = loss_compiled(logits, state["y"])
    loss.backward()
    sgd.step()
    return loss.detach()


VARIANTS = {"before": before, "operator": operator, "compiled": compiled, "fused_sgd": fused_sgd}
TOLERANCE = 2e-2
