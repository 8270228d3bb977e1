"""Whether the labels of a details page mean what ncuview/reader/equivalents.toml says, on one report.

    ncu --import REPORT --page details --csv > details.csv
    ncu --import REPORT --page raw --csv > raw.csv
    python -m validation.details_labels details.csv raw.csv

A label is confirmed where its value is that of the metric, as far as the page's two decimals show.
"""

from __future__ import annotations

import csv
from pathlib import Path

import typer

from ncuview.reader.csv_export import base_unit, read_csv
from ncuview.reader.equivalents import METRIC_OF_LABEL

ROUNDED = 0.006
"""What the page's two decimals leave open, in its own unit."""


def main(details: Path, raw: Path) -> None:
    """Print each label with its value and the metric's, and how many are the same."""
    read = read_csv(raw).launches
    known = dict(zip(read.metrics, read.values, strict=False))  # those of the first launch
    confirmed = seen = 0
    with details.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            metric = METRIC_OF_LABEL.get((row["Section Name"], row["Metric Name"]))
            if metric is None or row["ID"] != "0" or metric not in known:
                continue
            factor, _ = base_unit(row["Metric Unit"])
            value = float(row["Metric Value"].replace(",", "")) * factor
            same = abs(value - known[metric]) <= ROUNDED * factor
            seen, confirmed = seen + 1, confirmed + same
            said = f"{row['Metric Name']:45} {value:>16,.2f} {known[metric]:>16,.2f}"
            print(f"{'same' if same else 'NOT '}  {said}  {metric}")
    print(f"{confirmed} of {seen} labels that the page has are confirmed; {len(METRIC_OF_LABEL)} are known")


if __name__ == "__main__":
    typer.run(main)
