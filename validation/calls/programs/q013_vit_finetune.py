"""Training step of a shallow ViT-S (timm) on random images."""
import copy

import timm
import torch
import torch.nn.functional as F

LR = 1e-6


def setup():
    torch.manual_seed(0)
    model = timm.create_model("vit_small_patch16_224", pretrained=False, num_classes=100, depth=6)
    model = model.cuda().train()
    models = {name: copy.deepcopy(model) for name in ("a", "b", "c")}
    optimizers = {name: torch.optim.AdamW(m.parameters(), lr=LR, fused=True) for name, m in models.items()}
    images = torch.randn(96, 3, 224, 224, device="cuda")
    labels = torch.randint(0, 100, (96,), device="cuda")
    return {"models": models, "optimizers": optimizers, "images": images, "labels": labels}


def before(state):
    model, optimizer = state["models"]["a"], state["optimizers"]["a"]
    optimizer.zero_grad(set_to_none=True)
    logits = model(state["images"])
    loss = F.cross_entropy(logits, state["labels"])
    loss.backward()
    optimizer.step()
    return loss.detach()


def mixed(state):
    model, optimizer = state["models"]["b"], state["optimizers"]["b"]
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        outputs = model(state["images"])
        loss = F.cross_entropy(outputs, state["labels"])
    loss.backward()
    optimizer.step()
    return loss.detach()


def channels_last(state):
    model, optimizer = state["models"]["c"], state["optimizers"]["c"]
    optimizer.zero_grad(set_to_none=True)
    images = state["images"].to(memory_format=torch.channels_last)
    scores = model(images)
    loss = F.cross_entropy(scores, state["labels"])
    loss.backward()
    optimizer.step()
    return loss.detach()


VARIANTS = {"before": before, "mixed": mixed, "channels_last": channels_last}
TOLERANCE = 2e-2
