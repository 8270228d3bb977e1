"""ResNet-50 features of a batch of images in bf16."""
import copy
from types import SimpleNamespace

import torch
import torchvision


def setup():
    torch.manual_seed(0)
    net = torchvision.models.resnet50(weights=None, num_classes=200).cuda().to(torch.bfloat16).eval()
    net_last = copy.deepcopy(net).to(memory_format=torch.channels_last)
    images = torch.randn(128, 3, 224, 224, device="cuda", dtype=torch.bfloat16)
    images_last = images.to(memory_format=torch.channels_last)
    net_compiled = torch.compile(net_last)
    state = SimpleNamespace(net=net, net_last=net_last, net_compiled=net_compiled, images=images, images_last=images_last)
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.no_grad(), torch.cuda.stream(side):
        for _ in range(2):
            net_last(images_last)
    torch.cuda.current_stream().wait_stream(side)
    state.graph = torch.cuda.CUDAGraph()
    with torch.no_grad(), torch.cuda.graph(state.graph):
        state.static = net_last(images_last)
    return state


@torch.no_grad()
def nchw(state):
    logits = state.net(state.images)
    return logits.float()


@torch.no_grad()
def nhwc(state):
    logits = state.net_last(state.images_last)
    return logits.float()


@torch.no_grad()
def nhwc_graph(state):
    state.graph.replay()
    return state.static.float()


@torch.no_grad()
def nhwc_compiled(state):
    logits = state.net_compiled(state.images_last)
    return logits.float()


VARIANTS = {"nchw": nchw, "nhwc": nhwc, "nhwc_graph": nhwc_graph, "nhwc_compiled": nhwc_compiled}
TOLERANCE = 5e-2
