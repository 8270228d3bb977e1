"""A training loop with two data-loader workers; with LOAD_ON_GPU set they launch kernels too."""

import os

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __init__(self, device):
        self.device = device

    def __len__(self):
        return 4

    def __getitem__(self, number):
        image = torch.full((3, 512, 512), float(number), device=self.device)
        image = (image - 0.5) / 0.25
        return image.cpu()


def main(device):
    workers = DataLoader(Images(device), batch_size=2, num_workers=2, multiprocessing_context="spawn")
    model = nn.Sequential(nn.Conv2d(3, 16, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1)).cuda()
    for images in workers:
        print(os.getpid(), model(images.cuda()).sum().item(), flush=True)


if __name__ == "__main__":
    main("cuda" if "LOAD_ON_GPU" in os.environ else "cpu")
