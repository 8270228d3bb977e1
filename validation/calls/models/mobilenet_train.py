"""A training step of MobileNet v3 of torchvision in channels_last, with label smoothing and RMSprop."""

import torch
from torch import nn
from torchvision.models import mobilenet_v3_small

torch.manual_seed(0)
model = mobilenet_v3_small(num_classes=20).cuda().to(memory_format=torch.channels_last)
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-4)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
images = torch.randn(8, 3, 128, 128, device="cuda").contiguous(memory_format=torch.channels_last)
labels = torch.randint(0, 20, (8,), device="cuda")
optimizer.zero_grad()
output = model(images)
loss = criterion(output, labels)
loss.backward()
optimizer.step()
right = (output.argmax(-1) == labels).float().mean()
print(loss.item(), right.item())
