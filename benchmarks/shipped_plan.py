"""Write the metrics that the shipped rules need to ncuview/collect/shipped_plan.txt."""

from pathlib import Path

from ncuview.api import load_rules
from ncuview.collect import shipped_plan
from ncuview.collect.plan import metrics_for

if __name__ == "__main__":
    lines = "".join(f"{metric}\n" for metric in metrics_for(load_rules()))
    Path(shipped_plan.__file__).with_suffix(".txt").write_text(lines, "ascii")
