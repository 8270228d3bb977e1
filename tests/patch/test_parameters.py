"""Parameters of kernels: which values are proven, and what their change writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.catalogue.kernel_file import load_kernels
from ncuview.catalogue.kernels import find_kernel, launch_of
from ncuview.patch.parameters import Parameters, parameters_of
from ncuview.patch.patch import Edit, NoEdit
from tests.emulation import emulated_launch, needs_gpp, small
from tests.patch.building import applied, cubin

TEXT = """\
/*--- ncuview
schema = 1
name = "k"
family = "examples"
teaches = "A test."

[sizes]
n = 1048576
threads = 256

[launch]
grid = ["{grid}"]
block = ["{block}"]

[[args]]
name = "out"
kind = "out float32[n]"

[[args]]
name = "in"
kind = "in float32[n]"

[[args]]
name = "n"
kind = "int32 = n"
---*/
"""
EXACT = """\
__global__ void k(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = in[i] * 2.0f;
}
"""
GUARDED = EXACT.replace("    out[i]", "    if (i < n)\n        out[i]")
STRIDED = """\
__global__ void k(float *out, const float *in, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        out[i] = in[i] * 2.0f;
}
"""
LOOP = """\
__global__ void k(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int j = 0; j < 8; j++)
        sum += in[(i + j) % n];
    out[i] = sum;
}
"""
COOPERATING = """\
__global__ void k(float *out, const float *in, int n)
{
    __shared__ float s[256];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    s[threadIdx.x] = in[i];
    __syncthreads();
    out[i] = s[255 - threadIdx.x];
}
"""


def of(body: str, grid: str = "n / 256", block: str = "256") -> Parameters:
    return parameters_of(TEXT.format(grid=grid, block=block) + body, "k.cu", "k")


def values(found: Parameters) -> dict[str, tuple[int, ...]]:
    return {each.name: each.values for each in found.found}


def edited(found: Parameters, **chosen: int) -> Edit:
    made = found.edit(chosen)
    assert isinstance(made, Edit), made
    return made


@pytest.mark.parametrize(
    ("body", "grid", "block", "after"),
    [
        (EXACT, "n / 256", "256", "n / 512"),
        (GUARDED, "ceil(n / 256)", "256", "ceil(n / 512)"),
        (GUARDED, "ceil(n / threads)", "threads", "ceil(n / 512)"),
        (STRIDED, "ceil(n / 8 / 256)", "256", "ceil(n / 8 / 512)"),
        (STRIDED, "1024", "256", "1024"),
    ],
)
def test_a_block_of_threads_that_differ_by_number_alone_has_other_sizes(
    body: str, grid: str, block: str, after: str
) -> None:
    found = of(body, grid, block)
    assert values(found)["block"] == (32, 64, 128, 256, 512, 1024)
    assert not found.refused
    made = edited(found, block=512)
    assert made.title == "Launch blocks of 512 threads instead of 256"
    assert f'grid = ["{after}"]\nblock = ["512"]' in made.edited
    assert found.threads({"block": 512}) == 512


@pytest.mark.parametrize(
    ("body", "grid", "block", "reason"),
    [
        (COOPERATING, "n / 256", "256", "may depend on which threads share a block"),
        (EXACT, "ceil(n / 256)", "256", "larger blocks may add some"),
        (GUARDED, "ceil(n / 2 / 256)", "256", "does not end at"),
        (GUARDED, "1024", "256", "is not divided by the block"),
        (EXACT, "n / threads", "256", "larger blocks may add some"),
        (EXACT.replace("blockDim.x", "256"), "n / 256", "256", "for more than the global index"),
    ],
)
def test_a_block_that_is_not_proven_stays(body: str, grid: str, block: str, reason: str) -> None:
    found = of(body, grid, block)
    assert "block" not in values(found)
    assert reason in found.refused


def test_a_loop_has_factors_up_to_its_iterations() -> None:
    found = of(LOOP)
    (name,) = (each.name for each in found.found if each.kind == "unroll")
    assert values(found)[name] == (0, 1, 2, 4, 8)
    made = edited(found, **{name: 4})
    assert "    #pragma unroll 4\n    for (int j" in made.edited
    again = parameters_of(made.edited, "k.cu", "k")
    (factor,) = (each for each in again.found if each.kind == "unroll")
    assert (factor.present, factor.values) == (4, (1, 2, 4, 8))
    assert "#pragma unroll 2\n" in edited(again, **{factor.name: 2}).edited


def test_several_values_are_one_change_that_is_proven_step_by_step(tmp_path: Path) -> None:
    found = of(LOOP)
    (name,) = (each.name for each in found.found if each.kind == "unroll")
    made = edited(found, **{name: 2, "block": 128, "minimum_blocks": 8, "elements": 2})
    assert made.title.startswith("Unroll the loop on line 31 by 2, launch blocks of 128 threads instead of 256, leave")
    assert "__launch_bounds__(128, 8) k(float" in made.edited
    assert 'grid = ["n / 256"]\nblock = ["128"]' in made.edited
    assert "no launch outside this file has larger blocks" in made.assumes
    after = applied(TEXT.format(grid="n / 256", block="256") + LOOP, made, tmp_path)
    assert after == made.edited
    cubin(after, tmp_path)


def test_the_present_values_are_no_change() -> None:
    found = of(EXACT)
    assert isinstance(found.edit({}), NoEdit)
    assert isinstance(found.edit({each.name: each.present for each in found.found}), NoEdit)


def test_a_block_in_the_code_changes_with_its_launch() -> None:
    source = GUARDED + "void f(float *o, float *i, int n) { k<<<(n + 255) / 256, 256>>>(o, i, n); }\n"
    found = parameters_of(source, "k.cu", "k")
    assert "k<<<(n + 511) / 512, 512>>>" in edited(found, block=512).edited


def test_a_source_that_cannot_be_read_has_no_parameters() -> None:
    found = parameters_of("int x;", "k.cu", "k")
    assert found.found == ()
    assert found.refused


@needs_gpp
@pytest.mark.parametrize("name", ["count_global", "gather_fields", "gather_records", "pairs_global"])
def test_values_for_the_catalogue_compute_the_same(name: str, tmp_path: Path) -> None:
    kernel = find_kernel(name)
    found = parameters_of(kernel.path.read_text(encoding="utf-8"), str(kernel.path), kernel.function)
    unroll = next((each.name for each in found.found if each.kind == "unroll"), None)
    sizes = small(kernel, threads=1 << 11, elements=1 << 14).sizes
    before = emulated_launch(launch_of(kernel, sizes))
    for chosen in ({"block": 64}, {"block": 512}, {"block": 64, **({unroll: 2} if unroll else {})}):
        path = tmp_path / str(len(list(tmp_path.iterdir()))) / kernel.path.parent.name / kernel.path.name
        path.parent.mkdir(parents=True)
        path.write_text(edited(found, **chosen).edited, encoding="utf-8")
        after = emulated_launch(launch_of(load_kernels(path)[0], sizes))
        assert not after.faults
        assert [each.tobytes() for each in after.arrays] == [each.tobytes() for each in before.arrays]
