"""The launches of a report as DataFrames: the bottleneck of each kernel, the advice, and the time that it saves.

python examples/frames_by_kernel.py kernels/transpose/h200.ncu-repz
"""

from __future__ import annotations

import sys

import ncuview


def main(report: str) -> None:
    """Print one row per kernel and advice, the most time first, and the least occupancies with their unit."""
    diagnosis = ncuview.diagnose(ncuview.read(report))
    findings = ncuview.findings_frame(diagnosis)
    first = findings[findings["rank"] == 1].set_index("launch")
    bottlenecks = ncuview.units_frame(diagnosis).reset_index("kernel", drop=True)["wall"]
    by_kernel = first.join(bottlenecks).groupby(["kernel", "wall", "optimization"])["saved_ns"].agg(["size", "sum"])
    print(by_kernel.sort_values("sum", ascending=False).head(5).to_string())

    metrics = ncuview.metrics_frame(diagnosis)
    name = "achieved_occupancy"
    if name in metrics:
        print(f"\nleast {name} ({metrics.attrs['units'][name]}):")
        print(metrics[name].nsmallest(3).to_string())


if __name__ == "__main__":
    main(sys.argv[1])
