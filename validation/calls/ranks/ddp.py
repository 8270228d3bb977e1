"""Two ranks, on one GPU by gloo, on two by NCCL; rank 1 has twice the batch. Started alone it spawns both; under torchrun
it is one."""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel

WIDTH, LENGTH = 512, 256


class Attend(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.out = nn.Linear(WIDTH, 10)

    def forward(self, x):
        scores = self.q(x) @ self.k(x).transpose(-1, -2) / WIDTH**0.5
        weights = torch.softmax(scores, dim=-1)
        return self.out((weights @ self.v(x)).mean(1))


def step(model, optimizer, x, y):
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    loss.backward()
    optimizer.step()
    return loss


def main(rank, world):
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29511")
    gpus = torch.cuda.device_count()
    torch.cuda.set_device(rank % gpus)
    dist.init_process_group("nccl" if gpus >= world else "gloo", rank=rank, world_size=world)
    torch.manual_seed(0)
    model = DistributedDataParallel(Attend().cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    batch = 16 * (rank + 1)
    x = torch.randn(batch, LENGTH, WIDTH).cuda()
    y = torch.randint(10, (batch,)).cuda()
    for _ in range(1):
        loss = step(model, optimizer, x, y)
    print(f"rank {rank} pid {os.getpid()} batch {batch} loss {loss.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        main(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]))
    else:
        mp.spawn(main, args=(2,), nprocs=2)
