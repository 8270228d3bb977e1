"""The process that compares variants, over an emulated GPU: what it writes of each launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ncuview.catalogue.launcher.ratios import LOOKS
from tests.emulation import needs_gpp
from tests.emulation.device import run_job

pytestmark = needs_gpp

N = 200
ORIGINAL = """__global__ void scale(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) out[i] = 2.0f * in[i]; }"""


def job(
    folder: Path, *variants: str, original: str = ORIGINAL, pattern: str = "random", **changed: Any
) -> dict[str, Any]:
    launches = {}
    for number, source in enumerate((original, *variants)):
        path = folder / f"{number}.cu"
        path.write_text(source, encoding="utf-8")
        key = f"variant {number}" if number else "original"
        launches[key] = {"cubin": str(path), "symbol": "scale", "grid": [4, 1, 1], "block": [64, 1, 1], "shared": 0}
    array = {"dtype": "float32", "shape": [N]}
    arguments = [
        {"role": "in", "name": "in", "below": 0, "pattern": pattern, **array},
        {"role": "out", "name": "out", **array},
        {"role": "scalar", "name": "n", "dtype": "int32", "value": N},
    ]
    usual = {"mode": "compare", "reordered": [], "orders": 8, "budget_s": 60}
    return usual | {"cases": [{"arguments": arguments, "launches": launches}]} | changed


def lines(job: dict[str, Any]) -> list[dict[str, Any]]:
    return run_job(job)[0]


def of(made: list[dict[str, Any]], key: str = "variant 1") -> list[dict[str, Any]]:
    return [line for line in made if line.get("key") == key and "begins" not in line]


def test_an_equal_variant_has_no_differences_in_two_launches(tmp_path: Path) -> None:
    made = lines(job(tmp_path, ORIGINAL.replace("2.0f * in[i]", "in[i] + in[i]")))
    assert [line["run"] for line in of(made)] == [0, 1]
    for line in of(made):
        assert (line["error"], line["guards"], line["inputs"], line["poison"]) == ("", [], [], 0)
        assert [each["elements"] for each in line["differences"]] == [0]
    assert made[-1] == {"ended": True}


def test_each_launch_begins_with_a_line(tmp_path: Path) -> None:
    made = lines(job(tmp_path, ORIGINAL))
    assert [(line["key"], line["run"]) for line in made if line.get("begins")] == [
        ("original", 0), ("original", 1), ("variant 1", 0), ("variant 1", 1)
    ]  # fmt: skip


def test_poison_is_put_into_shared_memory_before_each_launch_that_is_compared(tmp_path: Path) -> None:
    _, gpu = run_job(job(tmp_path, ORIGINAL))
    made = [each for each in gpu.device.log if each[0] in {"fill", "launch"}]
    assert [each[0] for each in made] == ["fill", "launch"] * 4
    assert {each for each in made if each[0] == "fill"} == {("fill", (264, 1, 1), (1024, 1, 1), 232448)}
    assert gpu.device.log.count(("set_attribute", "carve-out", 100)) == 4
    _, timed = run_job(job(tmp_path, ORIGINAL, mode="time"))
    assert not [each for each in timed.device.log if each[0] == "fill" or each[1:2] == ("carve-out",)]


def test_a_wrong_element_is_given_with_both_values(tmp_path: Path) -> None:
    made = lines(job(tmp_path, ORIGINAL.replace("2.0f * in[i]", "i == 7 ? 5.0f : 2.0f * in[i]"), pattern="zeros"))
    (found,) = of(made)[0]["differences"]
    assert (found["elements"], found["first"], found["expected"], found["found"]) == (1, [7], "0.0", "5.0")


def test_elements_that_are_not_written_are_poison(tmp_path: Path) -> None:
    line = of(lines(job(tmp_path, ORIGINAL.replace("i < n", "i < n - 3"))))[0]
    assert line["poison"] == 3
    assert line["differences"][0]["elements"] == 3


def test_a_write_after_the_end_breaks_the_guard_band(tmp_path: Path) -> None:
    line = of(lines(job(tmp_path, ORIGINAL.replace("i < n", "i < n + 1"))))[0]
    assert line["guards"] == ["out"]
    assert line["differences"][0]["elements"] == 0


@pytest.mark.parametrize("at", [0, 1, N - 2, N - 1])
@pytest.mark.parametrize("size", [N, N - 1])
def test_each_overwritten_element_is_seen(at: int, size: int, tmp_path: Path) -> None:
    variant = ORIGINAL.replace("if (i < n)", f"if (i == {at} && i < n) ((float *)in)[i] += 1.0f; if (i < n)")
    asked = job(tmp_path, variant)
    for each in asked["cases"][0]["arguments"]:
        each.update({"shape": [size]} if "shape" in each else {"value": size})
    assert [bool(line["inputs"]) for line in of(lines(asked))] == [at < size] * 2


def test_the_first_results_of_the_original_have_sums(tmp_path: Path) -> None:
    made = lines(job(tmp_path, ORIGINAL))
    assert [(line["key"], line["run"]) for line in made if "crc" in line] == [("original", 0)]
    (sums,) = (line["crc"] for line in made if "crc" in line)
    other = lines(job(tmp_path, ORIGINAL, pattern="ramp"))
    assert len(sums) == 1
    assert sums not in [line["crc"] for line in other if "crc" in line]


def test_an_overwritten_input_is_named_and_restored(tmp_path: Path) -> None:
    wrong = ORIGINAL.replace("if (i < n)", "((float *)in)[i % n] *= 1.0f + (i == 3); if (i < n)")
    made = lines(job(tmp_path, wrong, ORIGINAL))
    assert [line["inputs"] for line in of(made)] == [["in"], ["in"]]
    assert of(made, "variant 2")[0]["differences"][0]["elements"] == 0


def test_a_launch_that_fails_is_the_last(tmp_path: Path) -> None:
    made = lines(job(tmp_path, ORIGINAL.replace("out[i] =", "out[i + (1 << 26)] ="), ORIGINAL))
    assert made[-1]["error"]
    assert made[-1]["key"] == "variant 1"


SUM = """__global__ void scale(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) atomicAdd(&out[0], (i % 7 ? 1.0f : 1e4f) * in[i]); }"""


def test_sums_by_atomics_may_differ_as_the_originals_do(tmp_path: Path) -> None:
    given = job(tmp_path, SUM, SUM.replace("if (i < n)", "if (i < n && i != 9)"), original=SUM)
    given["cases"][0]["arguments"][1]["role"] = "zeroed"
    made = lines(given)
    assert of(made, "original")[1]["differences"][0]["elements"] == 1
    assert len(of(made, "original")) == 2 + 8
    assert {line["differences"][0]["elements"] for line in of(made, "variant 1")} == {0}
    assert 0 < of(made, "variant 1")[0]["differences"][0]["allowed"] < 0.5
    assert {line["differences"][0]["elements"] for line in of(made, "variant 2")} == {1}


ROW = """__global__ void scale(const float *in, float *out, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x; float sum = 0;
    if (i < n) { for (int k = i / 50 * 50; k < i / 50 * 50 + 50; k++) sum += in[k]; out[i] = sum; } }"""


def test_orders_of_summation_give_the_tolerance(tmp_path: Path) -> None:
    backwards = ROW.replace("in[k]", "in[i / 50 * 50 + 49 - k % 50]")
    without_one = ROW.replace("k = i / 50 * 50", "k = i / 50 * 50 + 1")
    exact = lines(job(tmp_path, backwards, without_one, original=ROW))
    assert of(exact)[0]["differences"][0]["elements"] > 0
    reordered = [{"name": "in", "axis": 0, "group": 50}]
    within = lines(job(tmp_path, backwards, without_one, original=ROW, reordered=reordered))
    assert of(within)[0]["differences"][0]["elements"] == 0
    assert of(within, "variant 2")[0]["differences"][0]["elements"] == N
    with pytest.raises(ValueError, match="no input out"):
        lines(job(tmp_path, ROW, original=ROW, reordered=[{"name": "out", "axis": 0, "group": 0}]))


def test_times_are_interleaved_until_they_are_precise(tmp_path: Path) -> None:
    given = job(tmp_path, ORIGINAL, mode="time")
    slow = given["cases"][0]["launches"]["original"]["cubin"]
    ((found,), _) = run_job(given, lambda path, number: (3000.0 if path == slow else 1500.0) + number)
    assert found["device"] == "NVIDIA Fake"
    assert {key: len(times) for key, times in found["times_ns"].items()} == {
        "original": LOOKS[0],
        "variant 1": LOOKS[0],
    }
    assert found["times_ns"]["variant 1"][:2] == pytest.approx([1500, 1501])


def test_noise_makes_more_rounds_and_the_budget_ends_them(tmp_path: Path) -> None:
    given = job(tmp_path, ORIGINAL, mode="time")
    ((found,), _) = run_job(given | {"budget_s": 4}, lambda path, number: 1000.0 + 400 * (hash((path, number)) % 7))
    assert len(found["times_ns"]["original"]) > LOOKS[0]
    ((short,), _) = run_job(given | {"budget_s": 0}, lambda path, number: 1000.0)
    assert {key: len(times) for key, times in short["times_ns"].items()} == {"original": 1, "variant 1": 1}
