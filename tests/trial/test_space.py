"""Which values of parameters are tried: by the diagnosis and the registers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pytest

from ncuview.patch.parameters import Parameters, parameters_of
from ncuview.patch.patch import Edit, Refused
from ncuview.patch.tile_shapes import Shapes
from ncuview.records.diagnosis import LaunchDiagnosis, TextbookMetric
from ncuview.trial.space import Space, space_of
from ncuview.trial.tuning import tune
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


def tiled(threads: int, **present: int) -> Parameters:
    """Parameters of a source with tiles, whose shapes are all proven."""
    values = {name: tuple(sorted({value, 1, 2, 4, 8, 16, 32, 64})) for name, value in present.items()}

    def make(_: Mapping[str, int]) -> Edit:
        raise Refused("no shape is made to find the space")

    shared = "(16 * results_x + 1) * (tile_depth + 1) * 4"
    shapes = Shapes(values, present, threads, shared, "results_x * 4 + results_x + 4", make)
    return parameters_of(SOURCE, "k.cu", "k", shapes)


def allowed_shapes(found: Space) -> set[tuple[int, int]]:
    """The results and depths that all restrictions allow."""
    return {
        (results, depth)
        for results in found.values["results_x"]
        for depth in found.values.get("tile_depth", (16,))
        if all(eval(each, {"results_x": results, "tile_depth": depth}) for each in found.restrictions)
    }


def test_shapes_that_leave_no_room_for_threads_are_not_tried() -> None:
    allowed = allowed_shapes(space_of(tiled(64, results_x=8, tile_depth=16), None, None))
    assert {(8, 16), (1, 64), (16, 16)} <= allowed
    assert (32, 8) not in allowed  # 188 registers of each of 512 threads
    assert (16, 64) not in allowed  # 66,820 bytes for 64 threads: 8 of them do not fit a multiprocessor
    assert (16, 64) in allowed_shapes(space_of(tiled(256, results_x=8, tile_depth=16), None, None))


def test_the_present_shape_is_always_allowed() -> None:
    allowed = allowed_shapes(space_of(tiled(1024, results_x=64, tile_depth=64), None, None))
    assert (64, 64) in allowed
    assert (64, 32) not in allowed


def test_at_a_busy_memory_only_shapes_are_tried_that_load_less() -> None:
    found = space_of(tiled(256, results_x=8, tile_depth=16), judged(0.5, "dram", 0.95), 64)
    assert "results_x" in found.values
    assert "tile_depth" not in found.values
    assert (4, 16) in allowed_shapes(found)
    assert (32, 16) not in allowed_shapes(found)


def test_kernel_tuner_walks_through_the_shapes_that_are_allowed() -> None:
    found = space_of(tiled(64, results_x=8, tile_depth=16), None, None)
    asked: list[tuple[int, int]] = []

    def cost_of(values: Mapping[str, int], _: Iterable[Mapping[str, int]]) -> float:
        asked.append((values["results_x"], values["tile_depth"]))
        return abs(values["results_x"] - 2) + abs(values["tile_depth"] - 8) + 1.0

    chosen = {name: found.values[name] for name in ("results_x", "tile_depth")}
    present = {name: found.present[name] for name in chosen}
    tune(chosen, present, found.restrictions, cost_of, lambda: False)
    assert (2, 8) in asked
    assert set(asked) <= allowed_shapes(found)


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
