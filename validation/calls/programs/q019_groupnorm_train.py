"""Training step of a small residual convolution network with group normalisation (mixed precision)."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F

GROUPS, WIDTH, BLOCKS, LR = 8, 128, 4, 1e-4


class HandGroupNorm(nn.Module):
    def __init__(self, groups, channels):
        super().__init__()
        self.groups = groups
        self.weight = nn.Parameter(torch.ones(channels))
        self.bias = nn.Parameter(torch.zeros(channels))

    def forward(self, x):
        n, c, h, w = x.shape
        g = x.float().reshape(n, self.groups, -1)
        mean = g.mean(dim=2, keepdim=True)
        var = ((g - mean) ** 2).mean(dim=2, keepdim=True)
        g = (g - mean) / torch.sqrt(var + 1e-5)
        y = g.reshape(n, c, h, w)
        return y * self.weight.view(1, c, 1, 1) + self.bias.view(1, c, 1, 1)


class Net(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.stem = nn.Conv2d(3, WIDTH, 3, padding=1)
        self.convs = nn.ModuleList(nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False) for _ in range(BLOCKS))
        self.norms = nn.ModuleList(norm(GROUPS, WIDTH) for _ in range(BLOCKS))
        self.out = nn.Conv2d(WIDTH, 3, 1)

    def forward(self, x):
        x = self.stem(x)
        for conv, norm in zip(self.convs, self.norms):
            h = conv(x)
            h = norm(h)
            x = x + F.relu(h).to(x.dtype)
        return self.out(x)


def setup():
    torch.manual_seed(0)
    hand = Net(HandGroupNorm).cuda()
    library = Net(nn.GroupNorm).cuda()
    library.load_state_dict(copy.deepcopy(hand.state_dict()))
    return {
        "hand": hand, "hand_sgd": torch.optim.SGD(hand.parameters(), lr=LR, momentum=0.9, fused=True),
        "library": library, "library_sgd": torch.optim.SGD(library.parameters(), lr=LR, momentum=0.9, fused=True),
        "noisy": torch.randn(16, 3, 128, 128, device="cuda"),
        "clean": torch.randn(16, 3, 128, 128, device="cuda"),
    }


def train(model, optimizer, noisy, clean):
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        restored = model(noisy)
    loss = F.mse_loss(restored.float(), clean)
    loss.backward()
    optimizer.step()
    return loss.detach()


def before(state):
    return train(state["hand"], state["hand_sgd"], state["noisy"], state["clean"])


def after(state):
    return train(state["library"], state["library_sgd"], state["noisy"], state["clean"])


VARIANTS = {"before": before, "after": after}
TOLERANCE = 2e-2
