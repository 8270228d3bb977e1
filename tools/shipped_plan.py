"""Write the metrics that the shipped rules need to ncuview/engine/shipped_plan.txt."""

from pathlib import Path

from ncuview.api import load_rules
from ncuview.engine import shipped_plan
from ncuview.engine.plan import metrics_for

if __name__ == "__main__":
    lines = "".join(f"{metric}\n" for metric in metrics_for(load_rules()))
    Path(shipped_plan.__file__).with_suffix(".txt").write_text(lines, "ascii")
