"""The node embeddings of GraphSAGE layers of torch_geometric, and the nearest nodes of some of them."""

import torch
from torch_geometric.nn import SAGEConv

torch.manual_seed(0)
NODES, EDGES = 50000, 400000
x = torch.randn(NODES, 96, device="cuda")
edges = torch.randint(0, NODES, (2, EDGES), device="cuda")
first, second = SAGEConv(96, 128, aggr="max").cuda(), SAGEConv(128, 64).cuda()
with torch.no_grad():
    hidden = first(x, edges).relu()
    embedded = torch.nn.functional.normalize(second(hidden, edges), dim=-1)
    asked = embedded[:256]
    distances = torch.cdist(asked, embedded)
    near = distances.topk(10, largest=False)
    degrees = torch.zeros(NODES, device="cuda").index_add_(0, edges[1], torch.ones(EDGES, device="cuda"))
    weighted = near.values * degrees[near.indices].log1p()
print(weighted.mean().item())
