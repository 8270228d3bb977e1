"""One training step of a 6-layer ViT (timm) on 64 images."""
import copy
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from timm.models.vision_transformer import VisionTransformer


def make(model):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6, fused=True)
    return model, optimizer


def setup():
    torch.manual_seed(0)
    base = VisionTransformer(img_size=224, patch_size=16, embed_dim=768, depth=6, num_heads=12, num_classes=100)
    base = base.cuda().train()
    state = SimpleNamespace()
    state.full, state.full_opt = make(copy.deepcopy(base))
    state.amp, state.amp_opt = make(copy.deepcopy(base))
    state.last, state.last_opt = make(copy.deepcopy(base).to(memory_format=torch.channels_last))
    state.comp, state.comp_opt = make(copy.deepcopy(base))
    state.comp_call = torch.compile(state.comp)
    state.images = torch.randn(64, 3, 224, 224, device="cuda")
    state.labels = torch.randint(0, 100, (64,), device="cuda")
    return state


def full_precision(state):
    state.full_opt.zero_grad(set_to_none=True)
    logits = state.full(state.images)
    loss = F.cross_entropy(logits, state.labels)
    loss.backward()
    state.full_opt.step()
    return loss.detach()


def mixed(state):
    state.amp_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = state.amp(state.images)
        loss = F.cross_entropy(logits, state.labels)
    loss.backward()
    state.amp_opt.step()
    return loss.detach()


def mixed_channels_last(state):
    state.last_opt.zero_grad(set_to_none=True)
    images = state.images.to(memory_format=torch.channels_last)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = state.last(images)
        loss = F.cross_entropy(logits, state.labels)
    loss.backward()
    state.last_opt.step()
    return loss.detach()


def mixed_compiled(state):
    state.comp_opt.zero_grad(set_to_none=True)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        logits = state.comp_call(state.images)
        loss = F.cross_entropy(logits, state.labels)
    loss.backward()
    state.comp_opt.step()
    return loss.detach()


VARIANTS = {
    "full_precision": full_precision,
    "mixed": mixed,
    "mixed_channels_last": mixed_channels_last,
    "mixed_compiled": mixed_compiled,
}
TOLERANCE = 2e-2
