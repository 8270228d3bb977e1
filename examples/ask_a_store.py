"""Reports as a store, and three questions to it as DataFrames: where time goes, what saves most, and what was measured.

python examples/ask_a_store.py kernels/*/h200.ncu-repz
"""

from __future__ import annotations

import sys
from tempfile import TemporaryDirectory

from ncuview import store
from ncuview.pipeline.store_add import add_reports

QUESTIONS = {
    "kernels of most time": "SELECT name, gpu, launches, time_ns, share FROM top_kernels ORDER BY time_ns DESC LIMIT 5",
    "advice that saves most": "SELECT rule, optimization, findings, saved_ns, most_in FROM top_advice "
    "ORDER BY saved_ns DESC LIMIT 5",
    "bytes read from device memory": 'SELECT kernel, l.launch, "dram__bytes_read.sum" AS bytes, bytes / duration_ns AS '
    "bytes_per_ns FROM launches AS l JOIN metrics AS m USING (report, launch, kernel) ORDER BY bytes DESC LIMIT 5",
}


def main(*reports: str) -> None:
    """Add the reports to a temporary store, ask, and print the answers."""
    with TemporaryDirectory() as folder:
        done = add_reports(*reports, to=folder)
        print(f"{len(done.added)} reports added")
        with store.open(folder) as fleet:
            for what, query in QUESTIONS.items():
                print(f"\n{what}:\n{fleet.sql(query).df().to_string()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
