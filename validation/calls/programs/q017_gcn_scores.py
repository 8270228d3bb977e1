"""Node scores on a fixed graph of a million nodes with three narrow GCN layers (torch_geometric)."""
import torch
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

NODES, EDGES, WIDTH = 1_000_000, 12_000_000, 8


def setup():
    torch.manual_seed(0)
    edges = torch.randint(0, NODES, (2, EDGES), device="cuda")
    x = torch.randn(NODES, WIDTH, device="cuda")
    convs = [GCNConv(WIDTH, WIDTH).cuda() for _ in range(3)]
    plain = [GCNConv(WIDTH, WIDTH, normalize=False).cuda() for _ in range(3)]
    for a, b in zip(convs, plain):
        b.load_state_dict(a.state_dict())
    ready, weight = gcn_norm(edges, num_nodes=NODES, dtype=x.dtype)
    adjacency = torch.sparse_coo_tensor(ready.flip(0), weight, (NODES, NODES))
    adjacency = adjacency.coalesce().to_sparse_csr()
    return {"edges": edges, "x": x, "convs": convs, "plain": plain,
            "ready": ready, "weight": weight, "adjacency": adjacency}


@torch.no_grad()
def before(state):
    h = state["x"]
    for conv in state["convs"]:
        h = conv(h, state["edges"])
        h = torch.tanh(h)
    return h


@torch.no_grad()
def normalised_once(state):
    h = state["x"]
    for conv in state["plain"]:
        h = conv(h, state["ready"], state["weight"])
        h = torch.tanh(h)
    return h


@torch.no_grad()
def sparse_product(state):
    h = state["x"]
    for conv in state["plain"]:
        h = conv.lin(h)
        h = torch.sparse.mm(state["adjacency"], h)
        h = torch.tanh(h + conv.bias)
    return h


@torch.no_grad()
def sparse_tf32(state):
    torch.set_float32_matmul_precision("high")
    h = state["x"]
    for conv in state["plain"]:
        h = conv.lin(h)
        h = torch.sparse.mm(state["adjacency"], h)
        h = torch.tanh(h + conv.bias)
    torch.set_float32_matmul_precision("highest")
    return h


VARIANTS = {"before": before, "normalised_once": normalised_once, "sparse_product": sparse_product,
            "sparse_tf32": sparse_tf32}
TOLERANCE = 1e-2
