"""A PyTorch program that copies a transposed matrix: a kernel of PyTorch's own, without source lines."""

# mypy: ignore-errors

import torch

N = 8192


def main() -> None:
    """Copy a matrix transposed and check it."""
    matrix = torch.arange(N * N, dtype=torch.float32, device="cuda").reshape(N, N)
    out = matrix.t().contiguous()
    assert torch.equal(out.t(), matrix)


if __name__ == "__main__":
    main()
