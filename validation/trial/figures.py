"""The figures of the trials in trials.tsv and attempts.tsv, as a page.

    python3 -m validation.trial.figures validation/trial/trials.md

A gain is that of the kernel; where a change applies and nothing is kept it is 1. "Applies": at least one change was
compiled and run. Kernels are near their peak as their report says where it has no advice and they reach nine tenths of
what their bottleneck attains; it calls only those finished whose bottleneck is device memory.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import typer

from ncuview.records.diagnosis import FINISHED_SHARE
from validation.page import share
from validation.trial.run import TARGETS
from validation.trial.tables import rows_of

HERE = Path(__file__).resolve().parent
NEAR = 1.10
"""A measured gain is within the predicted one by this factor."""
Row = Mapping[str, str]


def main(page: Path, trials: Path = HERE / "trials.tsv", attempts: Path = HERE / "attempts.tsv") -> None:
    """Write the page."""
    page.write_text(figures(rows_of(trials), rows_of(attempts)), encoding="utf-8")


def figures(trials: Sequence[Row], attempts: Sequence[Row]) -> str:
    """The page: figures over all trials and of each part of targets.txt, and what became of the changes."""
    parts = sections()
    groups = {"all": list(trials)} | {
        part: [row for row in trials if parts.get(row["target"]) == part] for part in dict.fromkeys(parts.values())
    }
    groups["near their peak, as their report says"] = [row for row in trials if _is_near_peak(row)]
    for budget in sorted({row["budget"] for row in trials if row["beside"] == "0"}, key=int):
        alone = [row for row in trials if (row["budget"], row["beside"]) == (budget, "0")]
        groups[f"alone on their machine, budget {budget} s"] = alone
    columns = ("trials of", *(name for name, _ in _of([])))
    rows = [[part, *(cell for _, cell in _of(group))] for part, group in groups.items() if group]
    decisions = Counter((row["decision"], bool(row["reason"])) for row in attempts)
    changes = [
        [decision, str(sum(decisions[decision, has] for has in (True, False))), str(decisions[decision, True])]
        for decision in dict.fromkeys(each for each, _ in sorted(decisions, key=lambda each: -decisions[each]))
    ]
    return (
        f"# Trials\n\n`python3 -m validation.trial.figures validation/trial/trials.md`: {len(trials)} of"
        f" {len(parts)} targets were tried. [README.md](README.md) says how.\n\n{_table(columns, rows)}\n"
        f"## Changes\n\n{_table(('decision', 'changes', 'with a reason'), changes)}\n"
        f"## Kept, where a finding predicted it\n\n{_beside_predictions(attempts)}"
    )


def sections() -> dict[str, str]:
    """Target -> the heading that it stands below in targets.txt."""
    found, heading = {}, ""
    for line in TARGETS.read_text(encoding="utf-8").splitlines():
        if line.startswith("# "):
            heading = line[2:]
        else:
            found[line] = heading
    return found


def _is_near_peak(row: Row) -> bool:
    return row["verdict"] == "near-peak" and float(row["attained"]) >= FINISHED_SHARE


def _of(trials: Sequence[Row]) -> Iterator[tuple[str, str]]:
    """The figures of some trials by their names."""
    applies = [row for row in trials if int(row["attempts"])]
    kept = [row for row in trials if int(row["kept"])]
    gains = [float(row["gain"] or 1) for row in applies]
    seconds = [int(row["seconds"]) for row in trials]
    yield "trials", str(len(trials))
    yield "attempts", str(sum(int(row["attempts"]) for row in trials))
    yield "a change applies", share([len(applies), len(trials)])
    yield "something is kept", share([len(kept), len(trials)])
    yield "wrong by the oracle", str(sum(row["oracle"].startswith("WRONG") for row in trials))
    yield "gain: median", f"{statistics.median(gains):.2f}" if gains else ""
    yield "geometric mean", f"{math.exp(statistics.fmean(map(math.log, gains))):.2f}" if gains else ""
    yield "seconds: median", f"{statistics.median(seconds):.0f}" if seconds else ""
    yield "largest", str(max(seconds, default=0))
    yield "stopped by the budget", str(sum(bool(row["stopped"]) for row in trials))


def _beside_predictions(attempts: Sequence[Row]) -> str:
    kept = [row for row in attempts if row["decision"] == "kept" and row["predicted"] and row["measured"]]
    factors = [float(row["measured"]) / float(row["predicted"]) for row in kept]
    within = sum(1 / NEAR <= factor <= NEAR for factor in factors)
    rows = [
        [row["target"], row["title"], row["rule"], row["predicted"], row["bound"], row["measured"], f"{factor:.2f}"]
        for row, factor in zip(kept, factors, strict=True)
    ]
    columns = ("target", "change", "rule", "predicted", "bound", "measured", "measured / predicted")
    return f"Within {NEAR:.2f}x: {within} of {len(kept)}.\n\n{_table(columns, rows)}"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


if __name__ == "__main__":
    typer.run(main)
