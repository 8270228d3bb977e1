"""Click scores of a recommender: 120 categorical features with four ids each, then an MLP (bfloat16)."""
import torch
import torch.nn.functional as F

FEATURES, ROWS, WIDTH, BATCH, IDS = 120, 10_000, 32, 8192, 4


def setup():
    torch.manual_seed(0)
    big = torch.randn(FEATURES * ROWS, WIDTH, device="cuda", dtype=torch.bfloat16)
    tables = [big[f * ROWS:(f + 1) * ROWS].clone() for f in range(FEATURES)]
    ids = torch.randint(0, ROWS, (BATCH, FEATURES, IDS), device="cuda")
    per_feature = [ids[:, f].contiguous() for f in range(FEATURES)]
    base = torch.arange(FEATURES, device="cuda")[None, :, None] * ROWS
    dims = [FEATURES * WIDTH, 4096, 4096, 8]
    weights = [torch.randn(o, i, device="cuda", dtype=torch.bfloat16) * i ** -0.5
               for i, o in zip(dims[:-1], dims[1:])]
    return {"big": big, "tables": tables, "ids": ids, "per_feature": per_feature, "base": base, "weights": weights}


def score(x, weights):
    x = F.linear(x, weights[0]).relu_()
    x = F.linear(x, weights[1]).relu_()
    return F.linear(x, weights[2])


@torch.no_grad()
def before(state):
    parts = []
    for ids, table in zip(state["per_feature"], state["tables"]):
        parts.append(F.embedding_bag(ids, table, mode="sum"))
    x = torch.cat(parts, dim=1)
    return score(x, state["weights"])


@torch.no_grad()
def after(state):
    rows = (state["ids"] + state["base"]).view(BATCH * FEATURES, IDS)
    x = F.embedding_bag(rows, state["big"], mode="sum")
    x = x.view(BATCH, FEATURES * WIDTH)
    return score(x, state["weights"])


VARIANTS = {"before": before, "after": after}
TOLERANCE = 2e-2
