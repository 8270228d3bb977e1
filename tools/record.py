"""Record the profile of a family, as it ships: every launch that its ladder needs, planned metrics only, scrubbed.

    python -m tools.record transpose kernels/transpose/h200.ncu-repz

Needs a GPU, ncu, nvcc and PyCUDA.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path

from ncuview.api import load_rules
from ncuview.catalogue.kernels import family, launches_of
from ncuview.catalogue.live import profile_live
from ncuview.engine.plan import belongs_in_recording, metrics_for
from ncuview.reader.host_times import host_times_of
from ncuview.reader.scrub import scrub


def main(name: str, target: str) -> None:
    """Profile the family and write the scrubbed report."""
    metrics = metrics_for(load_rules())
    with tempfile.TemporaryDirectory() as folder:
        report = profile_live(launches_of(family(name)), metrics, Path(folder))
        scrub(report, Path(target), keep=partial(belongs_in_recording, planned=frozenset(metrics)))
        if (times := host_times_of(report)).exists():
            shutil.copy(times, host_times_of(Path(target)))
    print(f"{target}: {Path(target).stat().st_size:,} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
