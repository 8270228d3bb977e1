"""Private copies of a histogram: counted in shared memory, merged at the end of each block."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.patch.private_histogram import private_histogram
from ncuview.patch.program import Program
from tests.patch.building import applied, cubin, made, refused
from tests.patch.same_results import edited_alike, kernel_file

COUNT = "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i >= n)\n        return;\n"
ADD = COUNT + "    atomicAdd(&bins[in[i]], 1);"


def source(
    body: str = ADD,
    *,
    types: str = "const unsigned char *in, unsigned *bins",
    host: str = "k<<<(n + 255) / 256, 256>>>(in, bins, n);",
    head: str = "",
) -> str:
    return (
        f"{head}\n__global__ void k({types}, int n)\n{{\n{body}\n}}\n\nvoid run({types}, int n)\n{{\n    {host}\n}}\n"
    )


def test_each_block_counts_in_its_own_bins(tmp_path: Path) -> None:
    change = made(source(), private_histogram)
    edited = applied(source(), change, tmp_path)
    assert (
        """{
    __shared__ unsigned private_bins[256];
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        private_bins[bin] = 0;
    __syncthreads();
    #pragma unroll
    for (int part = 0; part < 32; part++) {
        const unsigned block = 32 * blockIdx.x + part;
        int i = block * blockDim.x + threadIdx.x;
        if (i >= n)
            continue;
        atomicAdd(&private_bins[in[i]], 1);
    }
    __syncthreads();
    for (int bin = threadIdx.x; bin < 256; bin += blockDim.x)
        if (private_bins[bin] != 0)
            atomicAdd(&bins[bin], private_bins[bin]);
}
"""
        in edited
    )
    assert "k<<<((n + 255) / 256 + 31) / 32, 256>>>" in edited
    assert change.title == "Give each block its own copy of the 256 bins of bins"
    cubin(edited, tmp_path / "compiled")


@pytest.mark.parametrize(
    ("index", "types", "bins"),
    [
        ("in[i]", "const unsigned char *in, int *bins", 256),
        ("in[i] & 63", "const int *in, int *bins", 64),
        ("(int)(in[i] % 100)", "const unsigned *in, unsigned *bins", 100),
        ("in[i] >> 24", "const unsigned *in, unsigned *bins", 256),
        ("in[i] >> 4", "const unsigned char *in, unsigned *bins", 16),
        ("in[i] / 10", "const unsigned char *in, unsigned long long *bins", 26),
    ],
)
def test_an_index_that_stays_inside_needs_no_condition(index: str, types: str, bins: int, tmp_path: Path) -> None:
    text = source(ADD.replace("in[i]", index).replace(", 1)", ", (VALUE)1)"), types=types).replace(
        "(VALUE)", "(unsigned long long)" if "long long" in types else ""
    )
    edited = applied(text, made(text, private_histogram), tmp_path)
    assert f"private_bins[{bins}];" in edited
    assert f"        atomicAdd(&private_bins[{index}], " in edited
    cubin(edited, tmp_path / "compiled")


def test_the_host_names_the_size_of_an_array(tmp_path: Path) -> None:
    host = "cudaMalloc(&bins, 512 * sizeof(int)); k<<<(n + 255) / 256, 256>>>(in, bins, n);"
    text = source(types="const int *in, int *bins", host=host)
    edited = applied(text, made(text, private_histogram), tmp_path)
    assert "        if ((unsigned long long)(in[i]) < 512)\n            atomicAdd(&private_bins[in[i]], 1);\n" in edited
    assert "        else\n            atomicAdd(&bins[in[i]], 1);\n" in edited
    cubin(edited, tmp_path / "compiled")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (source(types="const int *in, int *bins"), "the number of bins of bins is not known"),
        (source(ADD.replace("atomicAdd", "int old = atomicAdd")), "the value that atomicAdd returns"),
        (source(ADD.replace("atomicAdd(", "if (atomicAdd(").replace("1);", "1) > 3) return;")), "the value that"),
        (source(ADD.replace("atomicAdd", "atomicExch")), "atomicExch, whose order matters"),
        (source(ADD + "\n    bins[0] = 0;"), "uses bins in another way"),
        (source(ADD + "\n    if (bins[1] > 7) return;"), "uses bins in another way"),
        (source(ADD + "\n    atomicMax(&bins[in[i]], 3);"), "updated by different operations"),
        (source("    bins += 1;\n" + ADD), "bins may change"),
        (source(types="const unsigned char *in, volatile unsigned *bins"), "bins is volatile"),
        (source(types="const unsigned char *in, short *bins"), "elements of short"),
        (source(ADD.replace("in[i]", "0")), "no atomics at an index that comes from data"),
        (source(ADD.replace("in[i]", "in[i++]")), "cannot be evaluated twice"),
        (source("    __shared__ int s[4];\n" + ADD), "uses shared memory already"),
        (source("    for (int j = 0; j < 2; j++) {\n" + ADD + "\n    }"), "returns from inside a loop"),
        (
            source(COUNT + "    for (; i < n; i += gridDim.x)\n        atomicAdd(&bins[in[i]], 1);"),
            "before the barrier",
        ),
        (source(ADD, host="k<<<(n + 255) / 256, 256>>>((unsigned char *)bins, bins, n);"), "may overlap"),
        (source(head="#define LEVELS bins"), "bins may change"),
        (source(ADD.replace("in[i]", "AT(i)"), head="#define AT(i) in[i] + 300"), "may be a macro"),
    ],
)
def test_what_is_not_proven_is_refused(text: str, reason: str) -> None:
    assert reason in refused(text, private_histogram)


def in_file(body: str, kind: str = "in int32[n] below 300", bins: str = "zeroed int32[256]") -> str:
    types = f"const {'float' if 'float' in kind else 'int'} *in, {'float' if 'float' in bins else 'int'} *bins, int n"
    text = f"__global__ void k({types})\n{{\n{body}\n}}\n"
    args = [f"in: {kind}", f"bins: {bins}", "n: int32 = n"]
    return kernel_file(text, grid='"ceil(n / 64)"', args=args, sizes={"n": 1 << 20})


SIZES = [{"n": n} for n in (1, 64, 65, 2048, 2049, 5000)]


def test_all_bins_are_merged(tmp_path: Path) -> None:
    text = in_file(ADD, "in int32[n] below 256")
    edited = edited_alike(text, private_histogram, SIZES, tmp_path)
    assert "        atomicAdd(&private_bins[in[i]], 1);" in edited


OVER_LINES = """    if (AT < n)
        atomicAdd(&bins[in[AT]],
                  (int)(AT) & 3);"""


@pytest.mark.parametrize("kind", ["below 256", "below bins"], ids=["inside", "maybe outside"])
def test_an_update_may_be_broken_over_lines_and_name_its_block(kind: str, tmp_path: Path) -> None:
    body = OVER_LINES.replace("AT", "blockIdx.x * blockDim.x + threadIdx.x")
    text = in_file(body, f"in int32[n] {kind}", "zeroed int32[bins]").replace("n = 1048576", "n = 1048576\nbins = 256")
    edited = edited_alike(text, private_histogram, [{"n": n, "bins": 300} for n in (2048, 6144)], tmp_path)
    assert "atomicAdd(&private_bins[in[block * blockDim.x + threadIdx.x]]," in edited


def test_indices_outside_the_private_copy_stay_in_global_memory(tmp_path: Path) -> None:
    text = in_file(ADD, "in int32[n] below bins", "zeroed int32[bins]").replace(
        "n = 1048576", "n = 1048576\nbins = 128"
    )
    sizes = [{**each, "bins": 300} for each in SIZES]
    edited = edited_alike(text, private_histogram, sizes, tmp_path)
    assert "< 128)\n            atomicAdd(&private_bins" in edited


@pytest.mark.parametrize(
    "body",
    [
        ADD.replace("atomicAdd", "atomicMax").replace(", 1)", ", i)"),
        ADD.replace("atomicAdd", "atomicXor").replace(", 1)", ", i)"),
        COUNT + "    if (in[i] > 7)\n        atomicAdd(&bins[in[i]], i);\n    else\n        atomicAdd(&bins[0], 2);",
        COUNT.replace("if (i >= n)\n        return;", "") + "    for (; i < n; i += gridDim.x * blockDim.x)\n"
        "        atomicAdd(&bins[in[i] & 15], 1);",
    ],
    ids=["max", "xor", "two places", "loop over the data"],
)  # fmt: skip
def test_other_forms_are_the_same(body: str, tmp_path: Path) -> None:
    edited_alike(in_file(body, "in int32[n] below 256"), private_histogram, SIZES, tmp_path)


def test_sums_of_floats_name_what_is_reordered(tmp_path: Path) -> None:
    body = COUNT + "    atomicAdd(&bins[(int)in[i] & 7], in[i]);"
    text = in_file(body, "in float32[n] below 256", "zeroed float32[8]")
    program = Program.read(text, "k.cu")
    assert private_histogram(program.kernel("k"), []).reorders == "the sums in bins"
    edited_alike(text, private_histogram, SIZES, tmp_path, tolerance=1e-5)


def test_planes_of_threads_zero_and_merge_every_bin_once(tmp_path: Path) -> None:
    body = """__global__ void k(const int *in, int *bins, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < w && y < h)
        atomicAdd(&bins[in[y * w + x]], 1);
}
"""
    args = ["in: in int32[h, w] below 64", "bins: zeroed int32[64]", "w: int32 = w", "h: int32 = h"]
    grid, block = '"ceil(w / 8)", "ceil(h / 4)"', '"8", "4"'
    text = kernel_file(body, grid=grid, block=block, args=args, sizes={"w": 64, "h": 1 << 17})
    edited = edited_alike(text, private_histogram, [{"w": 13, "h": 300}, {"w": 8, "h": 4}], tmp_path)
    assert "threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z)" in edited


@pytest.mark.parametrize("name", ["histogram_global", "histogram_match"])
def test_histograms_of_the_catalogue_are_the_same(name: str, tmp_path: Path) -> None:
    text = (Path(__file__).resolve().parents[2] / "kernels" / "atomics" / f"{name}.cu").read_text()
    sizes = [{"n": 2 * 8 * 256, "blocks": 2}, {"n": 2 * 8 * 256, "blocks": 1}]
    edited_alike(text, private_histogram, sizes, tmp_path, kernel=name)
