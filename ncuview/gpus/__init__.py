"""Read the shipped TOML tables of GPU figures: attainable shares of each unit's peak, launch and memory times, rates.

``shipped_tables`` returns them by the GPU's name; the entry ``default`` is for every GPU that has no file here.

A file names its ``devices`` as the driver does, says when it was ``measured``, and holds

- for each hardware unit the share of its peak that good kernels attain: ``best`` is what the saturating kernel reached,
  ``low`` what a finished kernel of the catalogue reaches when this unit limits it, ``high`` never above what was seen,
  plus the spread between runs. No unit reaches 1.0, so a prediction that assumes 1.0 predicts too much;
- figures, each with its unit in its name: ``launch_ns`` (the emptiest launch), ``memory_ns`` (one trip to memory),
  ``blocks_per_ns`` (block starts), ``host_bytes_per_ns`` (the bus, page-locked, one way), ``dram_write_cost`` (share of
  peak lost where every byte is written), ``bytes_in_flight`` (per thread at full occupancy, to keep dram busy),
  ``float_atomic_use`` (what the counter of L2 atomics reads for floats, as a share of what it reads for integers),
  ``start_ns`` (of a launch, before all blocks run and after most have ended), ``graph_gap_ns`` (between two kernels of
  a CUDA graph), ``l2_bytes`` and ``shared_bytes`` (the L2 cache, and a multiprocessor's shared memory, where a report
  does not give them);
- ``tensor_speedup``, with low, best and high: how many times as fast as the FMA pipes the tensor pipes are.

``default.toml`` also has ``blocks_per_cycle`` and ``loaded_memory_ns`` (a trip to memory that is busy), from which
``blocks_per_ns``, ``bytes_in_flight`` and ``shared_bytes`` are derived for a GPU without a table, by the clocks and
sizes in its report.

The what-if model reads the shares, and rule expressions read the figures as ``gpu.NAME``: no figure of a GPU stands
in a rule. A figure that a file does not hold comes from ``default.toml``; if it is missing there too, it is unknown.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

DEFAULT = "default"
FIGURES = (
    "launch_ns",
    "memory_ns",
    "blocks_per_ns",
    "host_bytes_per_ns",
    "dram_write_cost",
    "bytes_in_flight",
    "float_atomic_use",
    "start_ns",
    "graph_gap_ns",
    "l2_bytes",
    "shared_bytes",
)
"""The figures that a table may hold besides the shares of units."""
DERIVING = ("blocks_per_cycle", "loaded_memory_ns")
"""What ``default.toml`` alone holds: the figures from which others are derived."""
FIGURE_NAMES = {f"gpu.{figure}": figure for figure in FIGURES}
"""The figures' names in rule expressions."""


@cache
def shipped_tables() -> Mapping[str, dict[str, Any]]:
    """Device name, or ``default``, -> its unit shares and figures, as they stand in the files."""
    tables: dict[str, dict[str, Any]] = {}
    for file in sorted(resources.files(__name__).iterdir(), key=lambda each: each.name):
        if file.name.endswith(".toml"):
            table = tomllib.loads(file.read_text(encoding="utf-8"))
            devices = table.pop("devices")
            tables.update(dict.fromkeys([DEFAULT] if file.name == f"{DEFAULT}.toml" else devices, table))
    return tables
