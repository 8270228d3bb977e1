"""The launches of a kernel: their blocks, grids and arguments, in the source and in front matter."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.catalogue.kernel_file import read_front_matter
from ncuview.patch.launches import argument_kinds, block_of, front_matter, grid_divided, grid_of
from ncuview.patch.patch import Edit, Refused
from ncuview.patch.program import Kernel, Program
from tests.patch.building import applied, changed_lines, cubin

FRONT = """/*--- ncuview
schema = 1
name = "k"

[sizes]
n = 4096
tile = 2

[launch]
block = ["32", "8"]
grid = [{grid}]

[[args]]
name = "in"
kind = "in int32[n, 4] below tile"

[[args]]
name = "n"
kind = "int32 = n"
---*/
__global__ void k(const int *from, int count) {{ }}
"""


def kernel(source: str, path: str = "a.cu") -> Kernel:
    return Program.read(source, path).kernel("k")


def front(grid: str = '"n / 256", "tile"') -> str:
    return FRONT.format(grid=grid)


def launched(host: str, head: str = "") -> str:
    return f"{head}\n__global__ void k(float *a) {{ }}\nvoid run(float *a, int n) {{ {host} }}\n"


def divided(source: str, tmp_path: Path, axis: int = 0, by: int = 4, *, exact: bool = False) -> str:
    """The one changed line after the division of a grid."""
    replacements = grid_divided(kernel(source), axis, by, exact=exact)
    edited = applied(source, Edit("", "", source.encode(), replacements), tmp_path)
    ((_, after),) = changed_lines(source, edited)
    return after


def test_front_matter_defines_block_grid_and_arguments() -> None:
    read = kernel(front())
    assert block_of(read) == (32, 8, 1)
    assert grid_of(read) == (16, 2, 1)
    kinds = argument_kinds(read)
    assert (kinds["from"].role, kinds["from"].dtype, kinds["from"].shape) == ("in", "int32", ("n", "4"))
    assert (kinds["from"].below, kinds["count"].role, kinds["count"].value) == ("tile", "scalar", "n")


def test_front_matter_of_another_kernel_says_nothing_of_this_one() -> None:
    source = front().replace('"k"', '"other"')
    assert front_matter(kernel(source)) is None
    assert argument_kinds(kernel(source)) == {}
    with pytest.raises(Refused, match="no launch"):
        block_of(kernel(source))


def test_front_matter_and_a_launch_in_the_source_must_agree() -> None:
    with pytest.raises(Refused, match="different blocks"):
        block_of(kernel(front() + "void run() { k<<<1, 64>>>(nullptr, 0); }\n"))


@pytest.mark.parametrize(
    ("grid", "exact", "after"),
    [
        ('"n / 256"', False, 'grid = ["ceil(n / 1024)"]'),
        ('"n / 256"', True, 'grid = ["n / 1024"]'),
        ('"n / 256", "tile"', False, 'grid = ["ceil(n / 1024)", "tile"]'),
        ('"n / (8 * tile)"', False, 'grid = ["ceil(n / (8 * tile) / 4)"]'),
        ('"(n + 255) / 256"', False, 'grid = ["ceil((n + 255) / 256 / 4)"]'),
        ('"ceil(n / 256)"', False, 'grid = ["ceil(n / 1024)"]'),
        ('"ceil(n / 256)"', True, 'grid = ["ceil(n / 256) / 4"]'),
        ('"n + 2"', False, 'grid = ["ceil((n + 2) / 4)"]'),
        ('"n"', True, 'grid = ["n / 4"]'),
        ('"1026"', False, 'grid = ["257"]'),
    ],
)
def test_the_grid_of_front_matter_is_divided(grid: str, exact: bool, after: str, tmp_path: Path) -> None:
    assert divided(front(grid), tmp_path, exact=exact) == after
    text = read_front_matter(tmp_path / "a.cu")
    assert text.launch.grid[0] in after
    assert grid_of(kernel((tmp_path / "a.cu").read_text()))[0] >= 1


def test_another_axis_of_front_matter_is_divided(tmp_path: Path) -> None:
    assert divided(front('"n", "n / tile"'), tmp_path, 1, 2) == 'grid = ["n", "ceil(n / tile / 2)"]'


def test_windows_line_ends_of_front_matter_stay(tmp_path: Path) -> None:
    source = front().replace("\n", "\r\n")
    edited = grid_divided(kernel(source), 0, 4)
    assert applied(source, Edit("", "", source.encode(), edited), tmp_path) == source.replace(
        '"n / 256"', '"ceil(n / 1024)"'
    )


@pytest.mark.parametrize(
    ("host", "head", "after"),
    [
        ("k<<<(n + 255) / 256, 256>>>(a);", "", "k<<<((n + 255) / 256 + 3) / 4, 256>>>(a);"),
        ("k<<<dim3(n, 8), 256>>>(a);", "", "k<<<dim3((n + 3) / 4, 8), 256>>>(a);"),
        ("dim3 g(n, 8); k<<<g, 256>>>(a);", "", "k<<<dim3((g.x + 3) / 4, g.y, g.z), 256>>>(a);"),
        ("dim3 g(B, C); k<<<g, 256>>>(a);", "const int B = n(), C = 2;", "(g.x + 3) / 4, g.y, g.z)"),
        ("int g = n / 8; k<<<g, 256>>>(a);", "", "k<<<(g + 3) / 4, 256>>>(a);"),
        ("k<<<G, 256>>>(a);", "#define G 1025", "k<<<(G + 3) / 4, 256>>>(a);"),
        ("k<<<1025, 256>>>(a);", "", "k<<<257, 256>>>(a);"),
    ],
)
def test_the_grid_of_a_launch_is_divided(host: str, head: str, after: str, tmp_path: Path) -> None:
    assert after in divided(launched(host, head.replace("n()", "7")), tmp_path)
    cubin((tmp_path / "a.cu").read_text(), tmp_path / "compiled")


def test_every_launch_is_divided(tmp_path: Path) -> None:
    source = launched("k<<<n, 32>>>(a);\n k<<<n + 1, 32>>>(a);")
    edited = applied(source, Edit("", "", source.encode(), grid_divided(kernel(source), 0, 2)), tmp_path)
    assert "k<<<(n + 1) / 2, 32>>>" in edited
    assert "k<<<(n + 1 + 1) / 2, 32>>>" in edited


@pytest.mark.parametrize(
    ("source", "axis", "exact", "reason"),
    [
        (launched(""), 0, False, "no launch"),
        (launched("k<<<n, 32>>>(a);"), 1, False, "no axis y"),
        (launched("k<<<n, 32>>>(a);"), 0, True, "not a multiple of 4"),
        (launched("k<<<1026, 32>>>(a);"), 0, True, "not a multiple of 4"),
        (launched("k<<<G(n), 32>>>(a);", "#define G(x) x, 1"), 0, False, "macro"),
        (launched("k<<<G, 32>>>(a);", "#ifdef B\n#define G 4\n#endif"), 0, False, "not declared in its function"),
        (launched("auto f = &k; k<<<n, 32>>>(a);"), 0, False, "neither a launch"),
        (front('"n / 7"'), 0, True, "no integer"),
        (front('"1026"'), 0, True, "not divisible by 4"),
        (front('"n"'), 1, False, "no axis y"),
        (front('"\\u006e"'), 0, False, "not understood"),
        (front().replace("[launch]", '[transfers]\nmemory = "pinned"\n\n[launch]'), 0, False, "pieces of the data"),
        (front('"missing"'), 0, True, "front matter is wrong"),
    ],
)
def test_a_grid_that_cannot_be_divided_is_refused(source: str, axis: int, exact: bool, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        grid_divided(kernel(source), axis, 4, exact=exact)


def test_front_matter_with_other_arguments_than_the_kernel_is_refused() -> None:
    source = front().replace("int count)", "int count, int more)")
    with pytest.raises(Refused, match="not the parameters of k"):
        argument_kinds(kernel(source))
