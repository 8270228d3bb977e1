"""``LaunchOptions``: the command line's options that define the launch of a .cu file's kernel, as unparsed texts.

The fields are kernel name, grid, block, dynamic shared memory, arguments, sizes, and further options of nvcc.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LaunchOptions:
    """A launch on the command line, in the arithmetic of kernel files.

    Attributes:
        kernel: The kernel's C++ name: ``saxpy``, ``blas::saxpy<float, 4>``; empty where front matter names it.
        grid: Blocks in x, y and z: ``n / 256``, ``n / 32, n / 32``.
        block: Threads per block in x, y and z.
        shared: Bytes of dynamic shared memory; empty for none.
        args: A kind for each parameter, in order: ``in float32[n] below 4``, ``out float32[n]``, ``int32 = n``; one for
            a symbol begins with its name: ``weights: constant float32[9]``.
        sizes: The names in all these, ``n=1048576`` each; with front matter, other sizes than it gives.
        nvcc_args: Further options of nvcc, as typed in a shell.
    """

    kernel: str = ""
    grid: str = ""
    block: str = ""
    shared: str = ""
    args: tuple[str, ...] = ()
    sizes: tuple[str, ...] = ()
    nvcc_args: str = ""
