"""``ncuview doctor`` where everything is there."""

from __future__ import annotations

import pytest

from ncuview.doctor import examine_this_machine
from ncuview.doctor.live import live_checks

pytestmark = pytest.mark.gpu


def test_the_tools_and_the_gpu_are_found() -> None:
    verdicts = {each.name: each.verdict for each in examine_this_machine().checks}
    for name in ("ncu", "ncu-report", "cuda-driver", "gpu", "visible-devices"):
        assert verdicts[name].status == "OK", verdicts[name]
    assert not [each.message for each in verdicts.values() if "itself failed" in each.message]


def test_a_tiny_kernel_is_profiled_in_one_pass_and_in_several() -> None:
    one, several = (each.verdict.message for each in live_checks())
    assert one == "profiled in 1 pass"
    assert several in {"profiled in 2 passes", "profiled in 3 passes"}
