"""Compute theoretical occupancy from compute capability, block size, registers, shared memory and barriers.

``occupancy`` returns a launch's ``Occupancy`` with the limiting resource, ``best_occupancy`` the best block size.

The rules and barriers are those of CUDA's occupancy calculator (cuda_occupancy.h of CUDA 13.0), the other capacities
those of tables 30 and 31 of the CUDA Programming Guide. On all launches of the recorded profiles, of compute capability
9.0, they give what Nsight Compute reports (``tests/metrics/test_occupancy.py``). Clusters are left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

_WARP = 32
_REGISTERS = 65536
_REGISTERS_PER_THREAD = 255
_REGISTER_STEP = 256
"""Registers are allocated to a warp in multiples of this."""
_PARTITIONS = 4
"""Schedulers of a multiprocessor; the registers of a warp belong to one of them."""
_THREADS_PER_BLOCK = 1024
_KIB = 1024


@dataclass(frozen=True)
class Multiprocessor:
    """What one multiprocessor can hold at once.

    Attributes:
        warps, blocks, barriers: How many.
        shared: Bytes of shared memory for all blocks together, at most.
        reserved: Bytes of it that the driver takes in each block.
        step: Shared memory is allocated to a block in multiples of this many bytes.
    """

    warps: int
    blocks: int
    barriers: int
    shared: int
    reserved: int
    step: int


def _multiprocessor(
    warps: int, blocks: int, barriers: int, shared_kib: int, *, before_ampere: bool = False
) -> Multiprocessor:
    reserved, step = (0, 256) if before_ampere else (1 * _KIB, 128)
    return Multiprocessor(warps, blocks, barriers, shared_kib * _KIB, reserved, step)


MULTIPROCESSORS: Mapping[str, Multiprocessor] = MappingProxyType(
    {
        "7.5": _multiprocessor(32, 16, 32, 64, before_ampere=True),
        "8.0": _multiprocessor(64, 32, 64, 164),
        "8.6": _multiprocessor(48, 16, 16, 100),
        "8.7": _multiprocessor(48, 16, 16, 164),
        "8.9": _multiprocessor(48, 24, 24, 100),
        "9.0": _multiprocessor(64, 32, 64, 228),
        "10.0": _multiprocessor(64, 32, 64, 228),
        "10.3": _multiprocessor(64, 32, 64, 228),
        "11.0": _multiprocessor(48, 24, 24, 228),
        "12.0": _multiprocessor(48, 24, 24, 100),
        "12.1": _multiprocessor(48, 24, 24, 100),
    }
)
"""By compute capability; other GPUs are unknown."""


@dataclass(frozen=True)
class Occupancy:
    """The theoretical occupancy of a multiprocessor by one launch.

    Attributes:
        blocks: How many fit at once.
        share: Their warps as a share of those that fit at most, 0..1.
        limits: How many blocks each resource allows: ``warps``, ``blocks``, ``registers``, ``shared memory``,
            ``barriers``; a resource that the kernel does not use is missing.
    """

    blocks: int
    share: float
    limits: Mapping[str, int]

    @property
    def limited_by(self) -> tuple[str, ...]:
        """The resources that run out first."""
        return tuple(name for name, limit in self.limits.items() if limit == self.blocks)


def occupancy(capability: str, threads: int, registers: int, shared: int = 0, barriers: int = 0) -> Occupancy | None:
    """The theoretical occupancy of a launch.

    Args:
        capability: The GPU's compute capability: ``9.0``.
        threads: Per block.
        registers: Per thread.
        shared: Bytes per block, static and dynamic, without what the driver reserves.
        barriers: That the kernel uses.

    Returns:
        None where the GPU is not known. No block fits where ``blocks`` is 0: such a launch fails.
    """
    holds = MULTIPROCESSORS.get(capability)
    if holds is None:
        return None
    warps = -(-threads // _WARP)
    limits = {
        "warps": holds.warps // warps if threads <= _THREADS_PER_BLOCK else 0,
        "blocks": holds.blocks,
        "registers": _by_registers(warps, registers),
        "shared memory": holds.shared // _up(shared + holds.reserved, holds.step) if shared else holds.blocks,
        "barriers": holds.barriers // barriers if barriers else holds.blocks,
    }
    used = {"warps": True, "blocks": True, "registers": True, "shared memory": bool(shared), "barriers": bool(barriers)}
    blocks = min(limits.values())
    return Occupancy(blocks, blocks * warps / holds.warps, {name: limits[name] for name in limits if used[name]})


def best_occupancy(capability: str, registers: int, shared: int = 0, barriers: int = 0) -> tuple[int, Occupancy] | None:
    """The block size with the highest theoretical occupancy of a kernel, and that occupancy.

    The smallest such size that is a multiple of a warp; None where the GPU is not known.
    """
    sizes = range(_WARP, _THREADS_PER_BLOCK + 1, _WARP)
    found = [(size, each) for size in sizes if (each := occupancy(capability, size, registers, shared, barriers))]
    return max(found, key=lambda pair: pair[1].share, default=None)


def _by_registers(warps: int, registers: int) -> int:
    of_a_warp = _up(registers * _WARP, _REGISTER_STEP)
    if registers > _REGISTERS_PER_THREAD or of_a_warp * _up(warps, _PARTITIONS) > _REGISTERS:
        return 0
    return _REGISTERS // _PARTITIONS // of_a_warp * _PARTITIONS // warps


def _up(number: int, step: int) -> int:
    return -(-number // step) * step
