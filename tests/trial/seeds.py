"""Wrong edits of catalogue kernels, each with the right edit next to it and the checks that may find it.

The classes are those in which programs that edit kernels have failed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ncuview.catalogue.kernel_file import Kernel, load_kernels
from ncuview.catalogue.kernels import find_kernel
from ncuview.trial.cases import Build, Reordering
from tests.trial.emulated import build

OWN = Path(__file__).parent / "kernels" / "pairs"


@dataclass(frozen=True)
class Seed:
    """An edit, right and wrong.

    Attributes:
        kind: The class of the mistake.
        kernel: The kernel.
        right: The edit: text -> text.
        wrong: The edit with the mistake.
        checks: The checks that may find it.
        reordered: The sums that the edit reorders.
    """

    kind: str
    kernel: str
    right: Mapping[str, str]
    wrong: Mapping[str, str]
    checks: Sequence[str]
    reordered: Sequence[Reordering] = ()


TILE = "__shared__ float tile[TILE_DIM][TILE_DIM];"
FLAT = {
    TILE: "__shared__ float tile[TILE_DIM * (TILE_DIM + 1)];",
    "tile[threadIdx.y + j][threadIdx.x] =": "tile[(threadIdx.y + j) * (TILE_DIM + 1) + threadIdx.x] =",
}
SUM_OF_LOADS = "for (int c = 0; c < TILE; c++)\n        sum += d_idata[idx + c * THREADS];"
ADD = "atomicAdd(&histogram[value[k]], 1);"
PRIVATE = {
    "    int threads = gridDim.x * blockDim.x;": "    __shared__ unsigned mine[256];\n    mine[threadIdx.x] = 0;\n"
    "    __syncthreads();\n    int threads = gridDim.x * blockDim.x;",
    ADD: "atomicAdd(&mine[value[k]], 1);",
}
ROUNDS = "for (int r = 0; r < rounds; r++)\n        value ^= value << 1;"
THRICE = "{ value ^= value << 1; value ^= value << 1; value ^= value << 1; }"
END = "\n    }\n}\n// ncuview: end kernel"
MERGE = END.replace("}\n}", "}\n    __syncthreads();\n    atomicAdd(&histogram[threadIdx.x], mine[threadIdx.x]);\n}")
SCALE = "for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += threads)\n        out[i] = a * in[i];"
FOURS = (
    "int i = blockIdx.x * blockDim.x + threadIdx.x;\n    for (; {limit}; i += threads) {{"
    " const float4 v = *(const float4 *)(in + 4 * i{shift});"
    " *(float4 *)(out + 4 * i) = make_float4(a * v.x, a * v.y, a * v.z, a * v.w); }}{tail}"
)
TAIL = "\n    i = n / 4 * 4 + blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) out[i] = a * in[i];"

SEEDS = (
    Seed(
        "a dropped barrier", "transposeCoalesced",
        {"__syncthreads();\n\n    x = blockIdx.y": "x = blockIdx.y",
         "y = blockIdx.x * TILE_DIM + threadIdx.y;": "y = blockIdx.x * TILE_DIM + threadIdx.y;\n    __syncthreads();"},
        {"__syncthreads();": ""},
        ["outputs", "racecheck"],
    ),
    Seed(
        "a dropped barrier at the end of a loop", "mmul_tiled",
        {"        __syncthreads();\n    }": "        __syncthreads(); // before the next tile\n    }"},
        {"        __syncthreads();\n    }": "    }"},
        ["outputs", "racecheck"],
    ),
    Seed(
        "a barrier that became one of the warp", "reduce_v1",
        {"(2 * c) == 0)\n            smem[threadIdx.x] +=": "(c << 1) == 0)\n            smem[threadIdx.x] +="},
        {"            smem[threadIdx.x] += smem[threadIdx.x + c];\n        __syncthreads();":
            "            smem[threadIdx.x] += smem[threadIdx.x + c];\n        __syncwarp();"},
        ["outputs", "racecheck"],
    ),
    Seed(
        "padding without the index", "transposeCoalesced",
        FLAT | {"tile[threadIdx.x][threadIdx.y + j]": "tile[threadIdx.x * (TILE_DIM + 1) + threadIdx.y + j]"},
        FLAT | {"tile[threadIdx.x][threadIdx.y + j]": "tile[threadIdx.x * TILE_DIM + threadIdx.y + j]"},
        ["outputs"],
    ),
    Seed(
        "a lost tail", "scalarLoads",
        {SCALE: FOURS.format(limit="i < n / 4", shift="", tail=TAIL)},
        {SCALE: FOURS.format(limit="i < n / 4", shift="", tail="")},
        ["poison"],
    ),
    Seed(
        "a vector load after the end", "scalarLoads",
        {SCALE: FOURS.format(limit="4 * i + 3 < n", shift="", tail=TAIL)},
        {SCALE: FOURS.format(limit="4 * i < n", shift="", tail="")},
        ["guards", "launch", "memcheck"],
    ),
    Seed(
        "a misaligned vector load", "scalarLoads",
        {SCALE: FOURS.format(limit="i < n / 4", shift="", tail=TAIL)},
        {SCALE: FOURS.format(limit="i < n / 4", shift=" + 1", tail=TAIL)},
        ["launch"],
    ),
    Seed(
        "an unroll without remainder", "loopRolled",
        {ROUNDS: f"int r = 0;\n    for (; r + 2 < rounds; r += 3) {THRICE}\n{ROUNDS.replace('int r = 0', '')}"},
        {ROUNDS: f"for (int r = 0; r + 2 < rounds; r += 3) {THRICE}"},
        ["outputs"],
    ),
    Seed(
        "fast math where it matters", "preciseSine",
        {"sum += sinf(x);": "sum = sum + sinf(x);"},
        {"sum += sinf(x);": "sum += __sinf(x);"},
        ["outputs"],
    ),
    Seed(
        "a division that became a product", "preciseDivision",
        {"    out[i]": "    out[(size_t)i]"},
        {"    out[i] = ": "    out[i] = (1.0f + 1.2e-7f) * "},
        ["outputs"],
    ),
    Seed(
        "swapped indices that are no bijection", "transposeNaive",
        {"odata[x * n + (y + j)]": "odata[(size_t)x * n + y + j]"},
        {"odata[x * n + (y + j)]": "odata[x * n + x]"},
        ["poison"],
    ),
    Seed(
        "swapped indices of another matrix", "transformSmem",
        {"tile[icol][irow]": "*(&tile[0][0] + icol * BDIMX + irow)"},
        {"tile[icol][irow]": "*(&tile[0][0] + irow * BDIMX + icol)"},
        ["outputs", "memcheck"],
    ),
    Seed(
        "restrict on aliases", "sums_in_place",
        {"const float *in, float *out)": "const float *__restrict__ in, float *__restrict__ out)"},
        {"float *first,": "float *__restrict__ first,", "float *second,": "float *__restrict__ second,"},
        ["outputs", "poison"],
    ),
    Seed(
        "a private histogram without the merge", "histogram_global",
        PRIVATE | {END: MERGE},
        PRIVATE,
        ["outputs"],
    ),
    Seed(
        "a private histogram that is not cleared", "histogram_global",
        PRIVATE | {END: MERGE},
        PRIVATE | {END: MERGE, "    int threads = gridDim.x * blockDim.x;":
            "    __shared__ unsigned mine[256];\n    int threads = gridDim.x * blockDim.x;"},
        ["outputs"],
    ),
    Seed(
        "a merge before the copies are complete", "histogram_global",
        PRIVATE | {END: MERGE},
        PRIVATE | {END: MERGE.replace("    __syncthreads();\n", "")},
        ["outputs", "racecheck"],
    ),
    Seed(
        "an atomic that became an addition", "histogram_global",
        {ADD: "atomicAdd(histogram + value[k], 1u);"},
        {ADD: "histogram[value[k]] = histogram[value[k]] + (k % 4 != 3);"},
        ["outputs", "stability"],
    ),
    Seed(
        "a shuffle over inactive lanes", "reduce_shuffle",
        {"sum = warpReduce(threadIdx.x < THREADS / 32 ? smem[threadIdx.x] : 0);":
            "sum = warpReduce(threadIdx.x < THREADS / 32 ? smem[threadIdx.x] : 0.0f);"},
        {"if (threadIdx.x < 32)\n        sum = warpReduce(threadIdx.x < THREADS / 32 ? smem[threadIdx.x] : 0);":
            "if (threadIdx.x < THREADS / 32)\n        sum = warpReduce(smem[threadIdx.x]);"},
        ["outputs", "synccheck"],
    ),
    Seed(
        "a sum that skips lanes", "reduce_shuffle",
        {"for (int c = 16; c > 0; c >>= 1)\n        sum += __shfl_down_sync(0xffffffff, sum, c);":
            "for (int c = 1; c < 32; c <<= 1)\n        sum += __shfl_xor_sync(0xffffffff, sum, c);"},
        {"for (int c = 16; c > 0; c >>= 1)\n        sum += __shfl_down_sync(0xffffffff, sum, c);":
            "for (int c = 16; c > 1; c >>= 1)\n        sum += __shfl_down_sync(0xffffffff, sum, c);"},
        ["outputs"],
    ),
    Seed(
        "an early return before a barrier", "reduce_v1",
        {"smem[threadIdx.x] = d_idata[idx];": "float loaded = d_idata[idx];\n    smem[threadIdx.x] = loaded;"},
        {"smem[threadIdx.x] = d_idata[idx];": "if (threadIdx.x % 2) return;\n    smem[threadIdx.x] = d_idata[idx];"},
        ["synccheck", "outputs", "racecheck"],
    ),
    Seed(
        "an elements-per-thread edit without the grid", "reduce_shuffle",
        {SUM_OF_LOADS: "for (int c = TILE - 1; c >= 0; c--)\n        sum += d_idata[idx + c * THREADS];"},
        {SUM_OF_LOADS: "for (int c = 0; c < TILE / 2; c++)\n        sum += d_idata[idx + c * THREADS];"},
        ["outputs"],
        [Reordering("d_idata", 0, "tile * threads")],
    ),
    Seed(
        "half of the blocks", "mmul_tiled",
        {"C[y * n + x] = Csub;": "C[(size_t)y * n + x] = Csub;"},
        {'grid = ["n / 16", "n / 16"]': 'grid = ["n / 32", "n / 16"]'},
        ["poison"],
    ),
    Seed(
        "less shared memory than is used", "reduce_v1",
        {'shared = "4 * threads"': 'shared = "8 * threads"'},
        {'shared = "4 * threads"': 'shared = "2 * threads"'},
        ["launch", "outputs", "memcheck"],
    ),
    Seed(
        "an answer for one content of the inputs", "mmul_tiled",
        {"Csub += As[ty][k] * Bs[k][tx];": "Csub = As[ty][k] * Bs[k][tx] + Csub;"},
        {"Csub += As[ty][k] * Bs[k][tx];": "Csub += As[ty][k] != 0 ? As[ty][k] * Bs[k][tx] : Bs[k][tx] == 3 ? 1 : 0;"},
        ["outputs"],
    ),
    Seed(
        "a tile for one size", "mmul_tiled",
        {"for (int b = 0; b < n; b += BLOCK) {": "for (int b = 0; b <= n - BLOCK; b += BLOCK) {"},
        {"for (int b = 0; b < n; b += BLOCK) {": "for (int b = 0; b < (n > 32 ? n : 16); b += BLOCK) {"},
        ["outputs"],
    ),
    Seed(
        "neighbours outside of the tile", "row_smooth",
        {"i < BLOCK + 2 * REACH; i += BLOCK": "i < 2 * REACH + BLOCK; i += BLOCK"},
        {"i < BLOCK + 2 * REACH; i += BLOCK": "i < BLOCK; i += BLOCK"},
        ["outputs"],
    ),
    Seed(
        "restrict on aliases", "prefix_in_place",
        {"to[1] = from[0] + from[1];": "to[1] = from[1] + from[0];"},
        {"float *from, float *to)": "float *__restrict__ from, float *__restrict__ to)"},
        ["outputs"],
    ),
    Seed(
        "fast math where it matters", "preciseExponential",
        {"sum += expf(-x);": "sum = sum + expf(-x);"},
        {"sum += expf(-x);": "sum += __expf(-x);"},
        ["outputs"],
    ),
    Seed(
        "fast math where it matters", "preciseDivision",
        {"sum += numerator / x;": "sum = sum + numerator / x;"},
        {"sum += numerator / x;": "sum += __fdividef(numerator, x);"},
        ["outputs"],
    ),
)  # fmt: skip


@cache
def original(kernel: str) -> Build:
    """The kernel at sizes that can be emulated."""
    return build(kernel_of(kernel))


def kernel_of(kernel: str) -> Kernel:
    """A kernel of the catalogue, or one of this folder."""
    own = OWN / f"{kernel}.cu"
    return load_kernels(own)[0] if own.exists() else find_kernel(kernel)
