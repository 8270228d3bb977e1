"""Output layer and token loss of a language model: loss and gradients for 4096 tokens."""
import torch
import torch.nn.functional as F

TOKENS, DIM, VOCAB = 4096, 2048, 32000


def setup():
    torch.manual_seed(0)
    hidden = torch.randn(TOKENS, DIM, device="cuda", dtype=torch.bfloat16)
    weight = (torch.randn(VOCAB, DIM, device="cuda") * 0.02).to(torch.bfloat16)
    targets = torch.randint(0, VOCAB, (TOKENS,), device="cuda")
    return {"hidden": hidden.requires_grad_(), "weight": weight.requires_grad_(), "targets": targets}


def token_loss(logits, targets):
    probs = torch.softmax(logits, dim=-1)
    logp = torch.log(probs + 1e-9)
    picked = logp.gather(1, targets[:, None])
    return -picked.mean()


def before(state):
    logits = F.linear(state["hidden"], state["weight"])
    loss = token_loss(logits.float(), state["targets"])
    gh, gw = torch.autograd.grad(loss, [state["hidden"], state["weight"]])
    return loss.detach(), gh, gw


def operator(state):
    logits = F.linear(state["hidden"], state["weight"])
    logits32 = logits.to(torch.float32)
    loss = F.cross_entropy(logits32, state["targets"])
    gh, gw = torch.autograd.grad(loss, [state["hidden"], state["weight"]])
    return loss.detach(), gh, gw


def half_logits(state):
    logits = F.linear(state["hidden"], state["weight"])
    loss = F.cross_entropy(logits, state["targets"]).float()
    gh, gw = torch.autograd.grad(loss, [state["hidden"], state["weight"]])
    return loss.detach(), gh, gw


VARIANTS = {"before": before, "operator": operator, "half_logits": half_logits}
TOLERANCE = 3e-2
