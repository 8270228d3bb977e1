"""Which launch of a report would gain the most, and what to do to it.

python examples/worst_launch.py kernels/transpose/h200.ncu-repz
"""

from __future__ import annotations

import sys

import ncuview


def main(report: str) -> None:
    """Print the launches whose first advice saves time, most time first."""
    diagnosis = ncuview.diagnose(ncuview.read(report))
    savings = []
    for launch in diagnosis.launches:
        if launch.findings:
            first = launch.findings[0]
            saved_ns = launch.duration_ns * (1 - 1 / first.predicted_speedup.best)
            savings.append((saved_ns, launch.kernel, first.optimization))
    for saved_ns, kernel, optimization in sorted(savings, reverse=True)[:5]:
        print(f"{saved_ns / 1e3:10,.1f} us  {kernel}: {optimization}")


if __name__ == "__main__":
    main(sys.argv[1])
