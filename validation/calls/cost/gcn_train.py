"""Training steps of a graph network of torch_geometric."""

import torch
from torch_geometric.nn import GCNConv

torch.manual_seed(0)
nodes, edges = 20000, 200000
x = torch.randn(nodes, 128, device="cuda")
index = torch.randint(0, nodes, (2, edges), device="cuda")
labels = torch.randint(0, 16, (nodes,), device="cuda")


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = GCNConv(128, 128)
        self.b = GCNConv(128, 16)

    def forward(self, x, index):
        return self.b(torch.relu(self.a(x, index)), index)


net = Net().cuda()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
for _ in range(12):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(x, index), labels)
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
print(float(loss))
