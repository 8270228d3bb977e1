"""Full-graph inference of a four-layer GCN (torch_geometric) with layer norm between the layers."""
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch_geometric.nn import GCNConv
from torch_geometric.nn.conv.gcn_conv import gcn_norm

NODES = 200_000
EDGES = 4_000_000
WIDTH = 64


def normalised(edge_index):
    index, weight = gcn_norm(edge_index, None, NODES, add_self_loops=True)
    matrix = torch.sparse_coo_tensor(torch.stack([index[1], index[0]]), weight, (NODES, NODES))
    return matrix.coalesce().to_sparse_csr()


def setup():
    torch.manual_seed(0)
    edge_index = torch.randint(0, NODES, (2, EDGES), device="cuda")
    x = torch.randn(NODES, WIDTH, device="cuda")
    convs = torch.nn.ModuleList([GCNConv(WIDTH, WIDTH, cached=True) for _ in range(4)]).cuda().eval()
    norms = torch.nn.ModuleList([torch.nn.LayerNorm(WIDTH) for _ in range(4)]).cuda().eval()
    adjacency = normalised(edge_index)
    return SimpleNamespace(edge_index=edge_index, x=x, convs=convs, norms=norms, adjacency=adjacency)


def standardise_messages(h, norm):
    mean = h.mean(dim=-1, keepdim=True)
    centred = h - mean
    variance = (centred ** 2).mean(dim=-1, keepdim=True)
    scaled = centred / torch.sqrt(variance + norm.eps)
    return scaled * norm.weight + norm.bias


def standardise_products(h, norm):
    mu = h.mean(dim=-1, keepdim=True)
    delta = h - mu
    var = (delta ** 2).mean(dim=-1, keepdim=True)
    unit = delta / torch.sqrt(var + norm.eps)
    return unit * norm.weight + norm.bias


@torch.no_grad()
def message_passing(state):
    h = state.x
    for conv, norm in zip(state.convs, state.norms):
        h = conv(h, state.edge_index)
        h = standardise_messages(h, norm)
        h = torch.relu_(h)
    return h


@torch.no_grad()
def sparse_product(state):
    h = state.x
    for conv, norm in zip(state.convs, state.norms):
        h = torch.mm(state.adjacency, conv.lin(h))
        h = h.add_(conv.bias)
        h = standardise_products(h, norm)
        h = torch.relu_(h)
    return h


@torch.no_grad()
def sparse_layer_norm(state):
    h = state.x
    for conv, norm in zip(state.convs, state.norms):
        h = torch.sparse.mm(state.adjacency, conv.lin(h))
        h = h.add_(conv.bias)
        h = F.layer_norm(h, (WIDTH,), norm.weight, norm.bias, norm.eps)
        h = torch.relu_(h)
    return h


@torch.no_grad()
def sparse_rebuilt(state):
    h = state.x
    for conv, norm in zip(state.convs, state.norms):
        rebuilt = normalised(state.edge_index)
        h = torch.sparse.mm(rebuilt, conv.lin(h))
        h = h.add_(conv.bias)
        h = F.layer_norm(h, (WIDTH,), norm.weight, norm.bias, norm.eps)
        h = torch.relu_(h)
    return h


@torch.no_grad()
def sparse_layer_norm_tf32(state):
    torch.set_float32_matmul_precision("high")
    h = sparse_layer_norm(state)
    torch.set_float32_matmul_precision("highest")
    return h


VARIANTS = {
    "message_passing": message_passing,
    "sparse_product": sparse_product,
    "sparse_layer_norm": sparse_layer_norm,
    "sparse_rebuilt": sparse_rebuilt,
    "sparse_layer_norm_tf32": sparse_layer_norm_tf32,
}
TOLERANCE = 2e-2
