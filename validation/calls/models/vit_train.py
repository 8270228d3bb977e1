"""A training step of a small vision transformer of timm, with mixup and an average of its weights."""

import copy

import timm
import torch
from torch.nn import functional

torch.manual_seed(0)
model = timm.create_model("vit_tiny_patch16_224", num_classes=100, depth=4).cuda()
average = copy.deepcopy(model)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, foreach=True)
images = torch.rand(16, 3, 224, 224, device="cuda")
labels = torch.randint(0, 100, (16,), device="cuda")


def mixed(images, labels, share):
    order = torch.randperm(len(images), device="cuda")
    targets = share * functional.one_hot(labels, 100) + (1 - share) * functional.one_hot(labels[order], 100)
    return share * images + (1 - share) * images[order], targets


inputs, targets = mixed((images - 0.5) / 0.25, labels, 0.7)
loss = functional.cross_entropy(model(inputs), targets)
loss.backward()
optimizer.step()
with torch.no_grad():
    for kept, new in zip(average.parameters(), model.parameters(), strict=True):
        kept.lerp_(new, 0.01)
print(loss.item())
