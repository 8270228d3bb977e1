"""Record the profile of a family, as it ships: every launch that its ladder needs, planned metrics only, scrubbed.

    python -m tools.record transpose kernels/transpose/h200.ncu-repz

Needs a GPU, ncu, nvcc and PyCUDA.
"""

from __future__ import annotations

import shutil
import tempfile
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ncuview.api import load_rules
from ncuview.catalogue.kernels import family, launches_of
from ncuview.catalogue.live import profile_live
from ncuview.engine.plan import belongs_in_recording, metrics_for
from ncuview.reader.host_times import host_times_of
from ncuview.reader.scrub import scrub


def main(name: Annotated[str, typer.Argument(metavar="FAMILY")], target: Path) -> None:
    """Profile the family and write the scrubbed report."""
    metrics = metrics_for(load_rules())
    with tempfile.TemporaryDirectory() as folder:
        report = profile_live(launches_of(family(name)), metrics, Path(folder))
        scrub(report, target, keep=partial(belongs_in_recording, planned=frozenset(metrics)))
        if (times := host_times_of(report)).exists():
            shutil.copy(times, host_times_of(target))
    print(f"{target}: {target.stat().st_size:,} bytes")


if __name__ == "__main__":
    typer.run(main)
