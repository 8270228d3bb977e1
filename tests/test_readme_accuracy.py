"""The accuracy table of the README: its figures over all sets are those of validation/held-out.md.

The columns of the published steps are not compared: their evaluation is kept outside of this repository.
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RATIO = re.compile(r"(\d+) of (\d+)")
DEVELOPMENT = "Programs 1 to 30, odd"
"""The set that the rules were corrected on before any evaluation: it counts in no sum."""
ROWS = {
    "first advice right": "first advice right",
    "predicted against measured, median factor of the sets": "predicted to measured gain, median factor",
    "false advice on finished kernels": "advice on launches near their peak",
}
"""The README's words for the rows of each set."""


def cells_of(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().removeprefix("|").removesuffix("|").split("|")]


def figures_of(log: str, row: str, whose: str) -> list[str]:
    """What one column has in a row of each held-out set; sets without the column are left out."""
    found = []
    for section in re.split(r"(?m)^## ", log)[1:]:
        table = [cells_of(line) for line in section.splitlines() if line.startswith("|")]
        columns = [at for at, head in enumerate(table[0]) if head == whose or head.startswith(f"{whose}'s rules")]
        if columns and not section.startswith(DEVELOPMENT):
            found += [cells[columns[0]] for cells in table if cells[0] == row]
    return found


def together(figures: list[str]) -> str:
    """The sum of counts, or the range of factors."""
    ratios = [RATIO.match(figure) for figure in figures]
    counts = [(int(ratio[1]), int(ratio[2])) for ratio in ratios if ratio]
    if counts:
        return f"{sum(right for right, _ in counts)} of {sum(asked for _, asked in counts)}"
    factors = sorted(float(figure) for figure in figures)
    return f"{factors[0]:.2f} to {factors[-1]:.2f}"


def test_the_accuracy_table_of_the_readme_has_the_figures_of_the_held_out_evaluations() -> None:
    log = (ROOT / "validation" / "held-out.md").read_text(encoding="utf-8")
    readme = [cells_of(line) for line in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()]
    shown = {cells[0]: cells[1:3] for cells in readme if cells[0] in ROWS}
    assert shown == {
        words: [together(figures_of(log, row, whose)) for whose in ("ncuview", "Nsight Compute")]
        for words, row in ROWS.items()
    }


def test_the_sums_of_the_log_are_those_of_its_sets() -> None:
    log = (ROOT / "validation" / "held-out.md").read_text(encoding="utf-8")
    (sums,) = (cells_of(line) for line in log.splitlines() if line.startswith("| together |"))
    rows = {
        3: "first advice right",
        4: "right among the first three",
        6: "advice on launches near their peak",
        7: "advice on negative examples",
    }
    assert {at: sums[at] for at in rows} == {at: together(figures_of(log, row, "ncuview")) for at, row in rows.items()}
