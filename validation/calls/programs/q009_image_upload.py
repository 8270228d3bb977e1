"""Preprocessing of a batch of decoded photos that lie in host memory: upload, normalise, resize, gray statistics."""
import torch
import torch.nn.functional as F


def setup():
    torch.manual_seed(0)
    photos = torch.randint(0, 256, (32, 3, 512, 512), dtype=torch.uint8)
    mean = torch.tensor([0.485, 0.456, 0.406]).view(1, 3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(1, 3, 1, 1)
    return {
        "photos": photos, "pinned": photos.pin_memory(),
        "mean": mean.cuda(), "std": std.cuda(),
    }


def prepare(images, mean, std):
    images = (images - mean) / std
    small = F.interpolate(images, size=(224, 224), mode="bilinear", antialias=True, align_corners=False)
    contrast = small.std(dim=(2, 3))
    return small, contrast


def before(state):
    images = state["photos"].float() / 255.0
    images = images.to("cuda")
    return prepare(images, state["mean"], state["std"])


def bytes_up(state):
    raw = state["photos"].cuda()
    images = raw.float() / 255.0
    return prepare(images, state["mean"], state["std"])


def pinned(state):
    raw = state["pinned"].to("cuda", non_blocking=True)
    images = raw.float() / 255.0
    return prepare(images, state["mean"], state["std"])


VARIANTS = {"before": before, "bytes_up": bytes_up, "pinned": pinned}
TOLERANCE = 1e-3
