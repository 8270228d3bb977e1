"""The scoreboards of all recorded kernels agree with what their instructions use."""

from __future__ import annotations

from pathlib import Path

from tests.profiles import LABELLED, RECORDED
from tests.reader.test_control_codes import check_scoreboards
from tests.together import together


@together("report", [*RECORDED, *LABELLED], name=lambda report: f"{report.parent.name}/{report.name}")
def test_an_instruction_waits_for_the_scoreboard_of_the_result_that_it_uses(report: Path) -> None:
    """Of the catalogue and of the labelled programs."""
    check_scoreboards(report)
