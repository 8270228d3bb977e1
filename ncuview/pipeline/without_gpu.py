"""``with_ways_on`` adds to the error of a machine without a GPU, or without ncu, the commands that work there."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

from ncuview.base.errors import ToolError


def with_ways_on(missing: ToolError, program: Sequence[str]) -> ToolError:
    """The error with a hint that names what can be done with a program here, and where the GPU is.

    Args:
        missing: The error.
        program: The program and its arguments.
    """
    words = shlex.join(program)
    ways = (
        f"On the machine with the GPU `ncu --set full --import-source yes -o mine {words}` makes a report, which"
        f" `ncuview analyze mine.ncu-rep` diagnoses here; `ncuview analyze --dry-run -- {words}` prints the smallest"
        " command of ncu."
    )
    if Path(program[0]).suffix != ".py":
        ways += f" `ncuview analyze --no-counters -- {words}` shows what its machine code shows, without a GPU."
    return type(missing)(str(missing), hint=f"{missing.hint} {ways}")


def with_ways_on_for_source(missing: ToolError, source: Path) -> ToolError:
    """The error with a hint that names what can be done with a .cu file here, and where the GPU is."""
    ways = (
        f"`ncuview analyze {source} --no-counters`, with the same options, shows registers, occupancy and what the code"
        " shows; it needs nvcc, and cuobjdump and nvdisasm: pip install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm."
        " --dry-run checks the launch and prints ncu's command. On the machine with the GPU"
        " `ncu --set full --import-source yes -o mine ./program` profiles a program that launches it, and"
        " `ncuview analyze mine.ncu-rep` diagnoses the report here."
    )
    return type(missing)(str(missing), hint=f"{missing.hint} {ways}")
