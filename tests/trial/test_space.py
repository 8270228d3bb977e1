"""Which values of parameters are tried: by the diagnosis and the registers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncuview.patch.parameters import parameters_of
from ncuview.records.diagnosis import LaunchDiagnosis, TextbookMetric
from ncuview.trial.space import Space, space_of
from tests.render.sample import launch_with_advice

SOURCE = """\
__global__ void k(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float sum = 0.0f;
        for (int j = 0; j < 4; j++)
            sum = 0.5f * sum + in[i];
        out[i] = sum;
    }
}

void f(float *out, float *in, int n)
{
    k<<<(n + 255) / 256, 256>>>(out, in, n);
}
"""


def space(diagnosis: LaunchDiagnosis | None, registers: int | None) -> Space:
    return space_of(parameters_of(SOURCE, "k.cu", "k"), diagnosis, registers)


def judged(occupancy: float, bottleneck: str = "latency", attained: float = 0.4) -> LaunchDiagnosis:
    fits = TextbookMetric(occupancy, "ratio 0-1", "sm__maximum_warps_per_active_cycle_pct / 100")
    return replace(
        launch_with_advice(), bottleneck=bottleneck, attained=attained, metrics={"theoretical_occupancy": fits}
    )


def test_without_counters_all_that_is_proven_may_gain() -> None:
    found = space(None, None)
    assert found.values["block"] == (32, 64, 128, 256, 512, 1024)
    assert found.values["unroll_6"] == (0, 1, 2, 4)
    assert "minimum_blocks" not in found.values
    assert found.present == {"unroll_6": 0, "block": 256} | ({"elements": 1} if "elements" in found.values else {})


@pytest.mark.parametrize(("occupancy", "smallest"), [(1.0, 256), (0.5, 32)])
def test_smaller_blocks_are_tried_only_where_warp_slots_are_free(occupancy: float, smallest: int) -> None:
    assert min(space(judged(occupancy), 64).values["block"]) == smallest


def test_room_for_more_blocks_is_made_where_registers_limit_them() -> None:
    found = space(judged(0.5), 64)
    assert found.values["minimum_blocks"] == (0, 2, 3, 4, 6, 8)
    (restriction,) = found.restrictions

    def allowed(block: int, minimum: int) -> bool:
        return bool(eval(restriction, {"block": block, "minimum_blocks": minimum}))

    assert allowed(256, 0)
    assert allowed(256, 6)
    assert not allowed(256, 4)  # 64 registers leave room for as many
    assert not allowed(1024, 3)  # more threads than a multiprocessor holds
    assert "minimum_blocks" not in space(judged(1.0), 64).values


def test_at_a_busy_memory_nothing_that_hides_latency_is_tried() -> None:
    assert set(space(judged(0.5, "dram", 0.95), 64).values) == {"block"}
    assert space(judged(1.0, "dram", 0.95), 64).values == {"block": (256, 512, 1024)}
