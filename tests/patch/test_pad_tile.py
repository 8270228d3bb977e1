"""Tiles in shared memory get longer rows, in every declaration and index, or the change is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ncuview.patch import NoEdit, propose
from tests.patch.building import PROGRAMS, applied, changed_lines, edit, refusal, sass

PADDING = "pad_tile"


def transpose(declaration: str, write: str, read: str, head: str = "") -> str:
    return f"""{head}
__global__ void k(float *out, const float *in, int n)
{{
    __shared__ {declaration};
    int tx = threadIdx.x, ty = threadIdx.y;
    {write} = in[ty * n + tx];
    __syncthreads();
    out[ty * n + tx] = {read};
}}
int main() {{ dim3 block(32, 32); k<<<1, block>>>(nullptr, nullptr, 32); }}
"""


@pytest.mark.parametrize(
    ("declaration", "head", "padded"),
    [
        ("float tile[32][32]", "", "float tile[32][32 + 1]"),
        ("float tile[N][N]", "#define N 32", "float tile[N][N + 1]"),
        ("float tile[N][N]", "#ifndef N\n#define N 32\n#endif", "float tile[N][N + 1]"),
        ("float tile[N][N]", "constexpr int N = 32;", "float tile[N][N + 1]"),
        ("float tile[32][8 * 4]", "", "float tile[32][8 * 4 + 1]"),
        ("float tile[32][1 << 5]", "", "float tile[32][(1 << 5) + 1]"),
        ("float tile[32][(1 << 5)]", "", "float tile[32][(1 << 5) + 1]"),
        ("float other[2], tile[32][32 /* wide */]", "", "float other[2], tile[32][32 + 1 /* wide */]"),
        ("unsigned char tile[32][32]", "", "unsigned char tile[32][32 + 4]"),
        ("short tile[32][32]", "", "short tile[32][32 + 2]"),
        ("double tile[32][32]", "", "double tile[32][32 + 1]"),
        ("__align__(16) float tile[32][32]", "", "__align__(16) float tile[32][32 + 1]"),
    ],
)
def test_rows_in_brackets_get_a_word_longer(declaration: str, head: str, padded: str, tmp_path: Path) -> None:
    source = transpose(declaration, "tile[ty][tx]", "tile[tx][ty]", head)
    after = applied(source, edit(source, PADDING, "= tile"), tmp_path)
    assert changed_lines(source, after) == [(f"__shared__ {declaration};", f"__shared__ {padded};")]


@pytest.mark.parametrize(
    ("declaration", "write", "read", "after"),
    [
        ("float tile[32 * 32]", "tile[ty * 32 + tx]", "tile[tx * 32 + ty]",
         ("float tile[32 * (32 + 1)]", "tile[ty * (32 + 1) + tx]", "tile[tx * (32 + 1) + ty]")),
        ("float tile[1024]", "tile[tx + 32 * ty]", "tile[ty + tx*32]",
         ("float tile[32 * (32 + 1)]", "tile[tx + (32 + 1) * ty]", "tile[ty + tx*(32 + 1)]")),
        ("float tile[N * N]", "tile[threadIdx.y * N + threadIdx.x]", "tile[tx * N + ty]",
         ("float tile[N * (N + 1)]", "tile[threadIdx.y * (N + 1) + threadIdx.x]", "tile[tx * (N + 1) + ty]")),
    ],
)  # fmt: skip
def test_rows_in_arithmetic_get_a_word_longer_everywhere(
    declaration: str, write: str, read: str, after: tuple[str, str, str], tmp_path: Path
) -> None:
    source = transpose(declaration, write, read, "#define N 32")
    edited = applied(source, edit(source, PADDING, "= tile"), tmp_path)
    assert edited == transpose(*after, "#define N 32")


def test_every_declaration_of_the_tile_is_padded(tmp_path: Path) -> None:
    source = transpose("float tile[32][32]", "tile[ty][tx]", "tile[tx][ty]").replace(
        "    __shared__ float tile[32][32];\n",
        "#ifdef WIDE\n    __shared__ float tile[64][64];\n#else\n    __shared__ float tile[32][32];\n#endif\n",
    )
    after = applied(source, edit(source, PADDING, "= tile"), tmp_path)
    assert [pair[1] for pair in changed_lines(source, after)] == [
        "__shared__ float tile[64][64 + 1];",
        "__shared__ float tile[32][32 + 1];",
    ]


@pytest.mark.parametrize(
    ("declaration", "write", "read", "reason"),
    [
        ("float tile[32][33]", "tile[ty][tx]", "tile[tx][ty]", "padded already"),
        ("float tile[32][M + 1]", "tile[ty][tx]", "tile[tx][ty]", "padded already"),
        ("float tile[32 * 33]", "tile[ty * 33 + tx]", "tile[tx * 33 + ty]", "padded already"),
        ("float tile[32][32]", "tile[ty][tx]", "tile[ty][tx]", "does not depend on threadIdx.x"),
        ("float tile[32][32]", "tile[ty][tx]", "*(tile[tx] + ty)", "takes the address"),
        ("float tile[32][32]", "tile[ty][tx]", "(&tile[0][0])[tx * 32 + ty]", "takes the address"),
        ("float tile[32][32]", "tile[0][ty * 32 + tx]", "tile[tx][ty]", "on purpose"),
        ("float tile[32 * 32]", "tile[ty * 32 + tx]", "tile[ty + tx]", "by row * constant + column"),
        ("float tile[32 * 32]", "tile[ty * 32 + tx]", "tile[tx * 16 + ty]", "rows of different lengths"),
        ("float tile[32 * 32]", "tile[ty * 32 + tx]", "tile[tx * 32 + n]", "beyond a row of 32"),
        ("float tile[1000]", "tile[ty * 32 + tx]", "tile[tx * 32 + ty]", "multiple of its row length"),
        ("float tile[384][32]", "tile[ty][tx]", "tile[tx][ty]", "above the limit of 49,152"),
    ],
)  # fmt: skip
def test_what_cannot_be_padded_is_refused(declaration: str, write: str, read: str, reason: str) -> None:
    assert reason in refusal(transpose(declaration, write, read), PADDING, "= " + read)


def test_dynamic_shared_memory_is_refused() -> None:
    source = transpose("float tile[32][32]", "tile[ty * 32 + tx]", "tile[tx * 32 + ty]")
    dynamic = source.replace("__shared__ float tile[32][32]", "extern __shared__ float tile[]")
    assert "given at the launch" in refusal(dynamic, PADDING, "= tile")


def test_a_macro_that_knows_the_tile_is_refused() -> None:
    source = transpose("float tile[32][32]", "tile[ty][tx]", "READ", "#define READ tile[tx][ty]")
    assert "macro" in refusal(source, PADDING, "tile[ty][tx] =")


def test_a_name_that_may_hide_another_index_is_refused() -> None:
    source = transpose("float tile[32 * 32]", "tile[ty * 32 + tx]", "tile[tx * 32 + ty]")
    assert "may be a macro" in refusal(source.replace("__syncthreads();", "ZERO(4);"), PADDING, "= tile")


@pytest.mark.parametrize("name", ["pad_tile", "pad_flat"])
def test_the_programs_compile_and_use_a_longer_row(name: str, tmp_path: Path) -> None:
    source = (PROGRAMS / f"{name}.cu").read_text(encoding="utf-8")
    after = applied(source, edit(source, PADDING, "out[(y", kernel="transposed"), tmp_path)
    assert any("0x80" in each or "0x1000" in each for each in sass(source, tmp_path / "0", "transposed"))
    strides = {
        text
        for text in ("0x84", "0x1080", "0x420")
        for each in sass(after, tmp_path / "1", "transposed")
        if text in each
    }
    assert strides
    again = propose(after, f"{name}.cu", "transposed", PADDING, [])
    assert isinstance(again, NoEdit)


@settings(max_examples=40)
@given(
    st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,12}", fullmatch=True), st.integers(1, 40), st.integers(2, 96), st.booleans()
)
def test_any_name_and_size_is_padded_alone(name: str, rows: int, width: int, other_kernel: bool) -> None:
    from ncuview.patch.program import Program

    assume(
        name not in {"k", "tx", "ty", "n", "in", "out", "main", "block", "dim3", "nullptr", "int", "if", "do", "for"}
    )
    source = transpose("float T[R][W]", "T[ty][tx]", "T[tx][ty]").replace("T[R][W]", f"T[{rows}][{width}]")
    source = source.replace("T[", f"{name}[") + f"// {name}[{rows}][{width}]\n"
    untouched = (
        f'__global__ void other() {{ __shared__ int {name}[4][4]; {name}[0][0] = 0; const char *s = "{name}[4]"; }}\n'
    )
    source += untouched if other_kernel else ""
    assume(not Program.read(source, "a.cu").kernel("k").definition.has_error)
    made = propose(source, "a.cu", "k", PADDING, [])
    if width % 2 or rows * (width + 1) * 4 > 49152:
        assert isinstance(made, NoEdit)
        return
    assert not isinstance(made, NoEdit)
    (insertion,) = made.replacements
    assert insertion.text == " + 1"
    assert source.encode()[: insertion.end].decode().endswith(f"{name}[{rows}][{width}")
    assert insertion.end < source.index("__syncthreads")
