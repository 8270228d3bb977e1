"""The source lines with the most replayed shared-memory wavefronts, from the DataFrames of a profile.

python examples/hot_lines.py kernels/transpose/h200.ncu-repz
"""

from __future__ import annotations

import sys

import ncuview


def main(report: str) -> None:
    """Print file, line and replays of the worst lines of all launches."""
    lines = ncuview.read(report).lines
    replays = lines["memory_l1_wavefronts_shared"] - lines["memory_l1_wavefronts_shared_ideal"]
    worst = lines.assign(replays=replays).nlargest(5, "replays")
    print(worst[["file", "line", "replays"]].to_string(index=False))


if __name__ == "__main__":
    main(sys.argv[1])
