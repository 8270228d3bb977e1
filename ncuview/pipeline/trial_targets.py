"""``launch_to_try``: the launch of a kernel of the catalogue or of a .cu file, and how a changed file is read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ncuview.base.errors import UsageError
from ncuview.catalogue.kernel_file import Kernel, load_kernels
from ncuview.catalogue.kernels import Launch, find_kernel, launch_of
from ncuview.catalogue.user_kernel import LaunchOptions, user_launch


def launch_to_try(target: str, words: LaunchOptions) -> tuple[Launch, Callable[[Path], Kernel]]:
    """The launch of the target, and how the kernel of a changed file is read.

    Args:
        target: A kernel of the catalogue, or a file that ends in ``.cu``.
        words: How the kernel of a .cu file is launched.

    Raises:
        UsageError: There is no such kernel, or the words give no launch.
        KernelFileError: The file cannot be used.
    """
    if target.endswith(".cu"):
        return user_launch(Path(target), words), lambda path: user_launch(path, words).kernel
    if words != LaunchOptions():
        raise UsageError("--kernel, --grid, --block, --arg and --size are for .cu files")
    found = find_kernel(target)
    return launch_of(found), lambda path: next(each for each in load_kernels(path) if each.name == found.name)
