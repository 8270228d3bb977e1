"""Three training steps of a graph attention network of torch_geometric with pooling over 64 graphs."""

import torch
from torch.nn import functional
from torch_geometric.nn import GATConv, GraphNorm, global_mean_pool

torch.manual_seed(0)
NODES, EDGES, GRAPHS = 16384, 131072, 64
x = torch.randn(NODES, 64, device="cuda")
edges = torch.randint(0, NODES, (2, EDGES), device="cuda")
graph = torch.arange(NODES, device="cuda") // (NODES // GRAPHS)
target = torch.randn(GRAPHS, 1, device="cuda")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = GATConv(64, 32, heads=4)
        self.norm = GraphNorm(128)
        self.out = torch.nn.Linear(128, 1)

    def forward(self, x, edges, graph):
        hidden = functional.elu(self.attend(x, edges))
        hidden = self.norm(hidden, graph)
        hidden = functional.dropout(hidden, 0.2, self.training)
        return self.out(global_mean_pool(hidden, graph))


net = Net().cuda()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(3):
    optimizer.zero_grad()
    loss = functional.huber_loss(net(x, edges, graph), target)
    loss.backward()
    optimizer.step()
print(loss.item())
