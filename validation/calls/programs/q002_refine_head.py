"""Refinement head of a segmentation model: six wide 3x3 convolutions on backbone features."""
import torch
import torch.nn as nn


class Head(nn.Module):
    def __init__(self, width=384, depth=6, classes=24):
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(depth))
        self.classify = nn.Conv2d(width, classes, 1)

    def forward(self, x):
        for conv in self.convs:
            x = torch.relu_(conv(x))
        return self.classify(x)


def setup():
    torch.manual_seed(0)
    plain = Head().to("cuda", torch.bfloat16).eval()
    last = Head().to("cuda", torch.bfloat16).eval()
    last.load_state_dict(plain.state_dict())
    last = last.to(memory_format=torch.channels_last)
    features = torch.randn(16, 384, 64, 64, device="cuda", dtype=torch.bfloat16)
    return {"plain": plain, "last": last, "features": features}


@torch.no_grad()
def before(state):
    head = state["plain"]
    return head(state["features"])


@torch.no_grad()
def after(state):
    head = state["last"]
    features = state["features"].to(memory_format=torch.channels_last)
    return head(features)


VARIANTS = {"before": before, "after": after}
TOLERANCE = 4e-2
