"""Write benchmarks/gate/measured_spread.csv: how far each metric that ncuview uses spread from run to run.

    python benchmarks/gate/spread_table.py SPREAD.csv > benchmarks/gate/measured_spread.csv

SPREAD.csv has a row for each metric of ``ncu --set full``: its name, and (largest - smallest) / median over repeated
runs of the same launches, of the launch where that is largest. What ships was measured on an NVIDIA H200 with ncu
2025.3.1, in six runs of ten kernels with deterministic inputs. A metric that was 0 in all of them has spread 0 too.
"""

from __future__ import annotations

import csv
import sys
from math import isfinite
from pathlib import Path

import typer

from ncuview.api import load_rules
from ncuview.engine.plan import metrics_for
from ncuview.metrics.textbook import definitions, metric_names

_FEW = 1e-9


def main(source: Path) -> None:
    """Print the rows of the metrics that rules or textbook metrics use."""
    expressions = (text for each in definitions().values() for text in each.expressions)
    used = {*metrics_for(load_rules()), *(name for text in expressions for name in metric_names(text))}
    with source.open(encoding="utf-8", newline="") as file:
        rows = [(row[0], float(row[1])) for row in list(csv.reader(file))[1:] if row[0] in used]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("metric", "worst_spread"))
    for name, spread in sorted(rows):
        writer.writerow(
            (name, f"{spread:.4f}" if isfinite(spread) and spread > _FEW else ("inf", "0")[isfinite(spread)])
        )


if __name__ == "__main__":
    typer.run(main)
