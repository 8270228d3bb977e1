"""Kernels in strings of Python files: the string is found or refused by name, edits land in it, launches are proven."""

from __future__ import annotations

import ast
import subprocess
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from ncuview.patch import Edit, NoEdit, changes_for, lines_in
from ncuview.patch.coverage import check_covered
from ncuview.patch.launch_facts import check_distinct
from ncuview.patch.launches import block_of, grid_divided, grid_of
from ncuview.patch.patch import Refused, Replacement
from ncuview.patch.program import Kernel, Program
from ncuview.patch.python_launch import check_in_python
from ncuview.patch.python_source import kernels_in
from ncuview.records.diagnosis import Finding, Fix, SourceLine
from tests.emulation import Array, needs_gpp
from tests.patch.structural import SOME_ORDERS, same
from tests.render.sample import advice_finding

SCALE = """
extern "C" __global__ void scale(float *out, const float *in, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = in[i] * 2.0;
}
"""
OTHER = SCALE.replace("scale", "other").replace("2.0", "3.0")
HEAD = "import cupy as cp\nN = 1 << 20\nBLOCK = 256\n"
ARRAYS = "x = cp.arange(N, dtype=cp.float32)\ny = cp.empty_like(x)\n"
LAUNCH = "k(((N + BLOCK - 1) // BLOCK,), (BLOCK,), (y, x, N))\n"
RAW = f"k = cp.RawKernel(r'''{SCALE}''', 'scale')\n"
APP = HEAD + RAW + ARRAYS + LAUNCH


def kernel(source: str, name: str = "scale") -> Kernel:
    return Program.read(source, "app.py").kernel(name)


def literals(line: int) -> Finding:
    """A finding that asks for single precision on a line that the profile names."""
    place = SourceLine("/tmp/x/kern.cu", line, 1.0, "out[i] = in[i] * 2.0;")
    return replace(advice_finding(), where=(place,), fix=Fix("A change", patch="float_literals"))


def changed(source: str, finding: Finding | None, name: str = "scale") -> list[Edit]:
    return [each for _, each in changes_for(source, "app.py", name, finding) if isinstance(each, Edit)]


def applied(source: str, edit: Edit, folder: Path) -> str:
    (folder / "app.py").write_bytes(source.encode())
    command = ["git", "apply", "--whitespace=nowarn", "-"]
    subprocess.run(command, cwd=folder, input=edit.diff("app.py").encode(), check=True)
    return (folder / "app.py").read_bytes().decode()


def test_an_edit_of_the_string_is_a_patch_of_the_python_file(tmp_path: Path) -> None:
    (edit,) = changed(APP, literals(6))
    after = applied(APP, edit, tmp_path)
    assert after == edit.edited == APP.replace("2.0", "2.0f")


def test_windows_line_ends_stay(tmp_path: Path) -> None:
    source = APP.replace("\n", "\r\n")
    (edit,) = changed(source, literals(6))
    assert applied(source, edit, tmp_path) == source.replace("2.0", "2.0f")
    for each in changed(source, None):
        assert each.edited.count("\n") == each.edited.count("\r\n")


@pytest.mark.parametrize("line", [1, 6, 7, 9])
def test_a_line_is_found_by_its_text_because_libraries_put_lines_before_the_string(line: int) -> None:
    assert lines_in(APP.replace("\n", "\r\n"), "app.py", "scale", literals(line)) == (9,)


def test_without_a_text_or_with_one_that_stands_twice_there_is_no_line() -> None:
    assert lines_in(APP, "app.py", "scale", literals(6)) == (9,)
    blank = replace(literals(6), where=(SourceLine("kern.cu", 6, 1.0, ""),))
    assert lines_in(APP, "app.py", "scale", blank) == ()
    twice = APP.replace("= in[i] * 2.0;\n", "= in[i] * 2.0;\n        out[i] = in[i] * 2.0;\n")
    assert lines_in(twice, "app.py", "scale", literals(6)) == ()


def test_only_the_string_of_the_kernel_is_read() -> None:
    source = APP + f"o = cp.RawKernel(r'''#define i 7\n{OTHER}''', 'other')\no((1,), (32,), (y, x, N))\n"
    assert "#define" not in kernel(source).program.data.decode()
    assert block_of(kernel(source)) == (256, 1, 1)
    assert block_of(kernel(source, "other")) == (32, 1, 1)
    with pytest.raises(Refused, match="defines the kernel lost"):
        kernel(source, "lost")


def test_several_kernels_in_one_string_have_launches_of_their_own() -> None:
    both = f"m = cp.RawModule(code=r'''{SCALE}{OTHER}''')\nk = m.get_function('scale')\no = m.get_function('other')\n"
    source = HEAD + both + ARRAYS + LAUNCH + "o((4,), (64,), (y, x, N))\n"
    assert (block_of(kernel(source)), grid_of(kernel(source))) == ((256, 1, 1), (4096, 1, 1))
    assert (block_of(kernel(source, "other")), grid_of(kernel(source, "other"))) == ((64, 1, 1), (4, 1, 1))
    (edit,) = changed(source, replace(literals(6), where=(SourceLine("x", 9, 1.0, "out[i] = in[i] * 3.0;"),)), "other")
    assert edit.edited == source.replace("3.0", "3.0f")


def test_a_module_of_pycuda_and_an_extension_of_torch_are_read() -> None:
    pycuda = f"""from pycuda.compiler import SourceModule
mod = SourceModule('''{SCALE.replace('extern "C" ', "")}''')
k = mod.get_function("scale")
k(y, x, n, block=(128, 2, 1), grid=(64, 1))
"""
    assert (block_of(kernel(pycuda)), grid_of(kernel(pycuda))) == ((128, 2, 1), (64, 1, 1))
    host = "void run(float *y, float *x) { scale<<<4, 96>>>(y, x, 384); }\n"
    torch = f"src = '''{SCALE}{host}'''\next = load_inline(name='e', cpp_sources='', cuda_sources=[src])\next.run()\n"
    assert (block_of(kernel(torch)), grid_of(kernel(torch))) == ((96, 1, 1), (4, 1, 1))


@pytest.mark.parametrize(
    ("source", "says"),
    [
        (APP.replace("r'''", "'''").replace("* 2.0;", "* 2.0; // \\n"), r"has escapes: write it as a raw string"),
        (APP.replace("r'''", "f'''").replace("{\n", "{{\n").replace("\n}", "\n}}"), "is an f-string"),
        (HEAD + f"k = cp.RawKernel('#define A 1\\n' + r'''{SCALE}''', 'scale')\n", "is put together of several"),
        (HEAD + f"k = cp.RawKernel('' r'''{SCALE}''', 'scale')\n", "is put together of several"),
        (HEAD + f"k = cp.RawKernel(r'''{SCALE}'''.format(), 'scale')\n", r"is changed by \.format"),
        (HEAD + f"s = r'''{SCALE}'''\nk = cp.RawKernel(s % 3, 'scale')\n", "is put together of several"),
        (HEAD + f"s = r'''{SCALE}'''\nk = cp.RawKernel(s.replace('n', 'm'), 'scale')\n", r"is changed by \.replace"),
        (HEAD + f"s = r'''{SCALE}'''\nk = cp.RawKernel(Template(s), 'scale')\n", "is passed to Template"),
        (HEAD + f"s = r'''{SCALE}'''\ns = s + ''\nk = cp.RawKernel(s, 'scale')\n", "s is assigned more than once"),
        (HEAD + f"s = r'''{SCALE}'''\n", "is not compiled in this file"),
        (HEAD + f"e = load_inline('e', cuda_sources=[r'''{SCALE}''', more])\n", "is put together of several"),
        (APP + f"j = cp.RawKernel(r'''{SCALE}''', 'scale')\n", "more than one string"),
        ("# coding: latin-1\n" + APP, "is not UTF-8"),
        (APP + "def (:\n", "cannot be parsed"),
        (APP.replace("\n", "\r"), "carriage returns"),
        (APP + "\0", "cannot be parsed"),
        (APP + "a = 1" + " + 1" * 500 + "\n", "nested too deeply"),
        (APP + "a = " + "(" * 5000 + "\n", "cannot be parsed"),
        (APP + "\udc80", "is not UTF-8"),
        (APP + "\ud800 triton", "is not text"),
    ],
)
def test_a_string_that_is_not_the_source_as_it_stands_is_refused_by_name(source: str, says: str) -> None:
    with pytest.raises(Refused, match=says):
        kernel(source)
    assert {type(change) for _, change in changes_for(source, "app.py", "scale", None)} == {NoEdit}


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("(BLOCK,), (y", "(threads,), (y", "block of the launch on line 14 is not a constant"),
        (
            "BLOCK = 256\n",
            "BLOCK = 256\nfor BLOCK in (1, 2): pass\n",
            "block of the launch on line 15 is not a constant",
        ),
        (LAUNCH, LAUNCH + LAUNCH, "is launched in 2 places"),
        (LAUNCH, "", "is launched in 0 places"),
        (LAUNCH, "run(k)\n" + LAUNCH, "uses k in a way that is no launch"),
        (LAUNCH, "k.compile()\n" + LAUNCH, "uses k in a way that is no launch"),
        (LAUNCH, "k(*args)\n", "written in a way that is not understood"),
        ("k = cp", "self.k = cp", "is not kept in one name"),
        ("'scale')", "name)", "by a name that is no constant"),
        ("import cupy as cp\n", "from cupy import *\n", "is not kept in one name"),
    ],
)
def test_a_block_that_is_not_proven_is_refused(before: str, after: str, says: str) -> None:
    assert before in APP
    with pytest.raises(Refused, match=says):
        block_of(kernel(APP.replace(before, after)))


def test_a_grid_changes_where_it_is_written_in_the_call() -> None:
    def divided(grid: str, *, exact: bool = False, head: str = "") -> str:
        source = APP.replace("((N + BLOCK - 1) // BLOCK,)", grid).replace(ARRAYS, ARRAYS + head)
        change = grid_divided(kernel(source), 0, 4, exact=exact)
        edited = Edit("", "", source.encode(), change).edited
        (call,) = [node for node in ast.walk(ast.parse(edited)) if isinstance(node, ast.Call) and len(node.args) == 3]
        return ast.unparse(call.args[0])

    assert divided("(30,)") == "(8,)"
    assert divided("(N // 256, 2)", exact=True) == "(N // 256 // 4, 2)"
    assert divided("(blocks,)") == "((blocks + 3) // 4,)"
    assert divided("(a if b else c,)") == "(((a if b else c) + 3) // 4,)"
    for grid, exact, says in [("(30,)", True, "not a multiple of 4"), ("(blocks,)", True, "not a multiple of 4")]:
        with pytest.raises(Refused, match=says):
            divided(grid, exact=exact)
    with pytest.raises(Refused, match="is not written in its call"):
        divided("grid", head="grid = (64,)\n")


OVERLAP = (
    "x, y = make()\n",
    "",
    "import pool\nx = cp.arange(N)\ny = pool.empty(N)\n",
    "x = cp.arange(N)\ny = cp.array(x, copy=False)\n",
    "x = cp.arange(N)\ny = cp.ones(N)[:8]\n",
    "x = cp.arange(N)\ny = cp.empty_like(x)\nx, y = y, x\n",
)


def test_arrays_that_are_allocated_in_the_file_do_not_overlap() -> None:
    check_distinct(kernel(APP), {"out"}, {"in"})
    for arrays in ("x = cp.arange(N)\ny = x\n", "x = cp.arange(N)\ny = x[1:]\n", *OVERLAP):
        with pytest.raises(Refused, match="may overlap"):
            check_distinct(kernel(APP.replace(ARRAYS, arrays)), {"out"}, {"in"})
    with pytest.raises(Refused, match="passes x twice"):
        check_distinct(kernel(APP.replace("(y, x, N)", "(x, x, N)")), {"out"}, {"in"})


def test_structural_changes_of_string_and_grid_are_one_patch(tmp_path: Path) -> None:
    titles = {}
    for edit in changed(APP, None):
        after = applied(APP, edit, tmp_path)
        constants = [node.value for node in ast.walk(ast.parse(after)) if isinstance(node, ast.Constant)]
        (text,) = [each for each in constants if isinstance(each, str) and "extern" in each]
        assert text in after
        titles[edit.title] = after
    assert any("elements per thread" in title.lower() or "vector" in title.lower() for title in titles), titles
    assert any("k((((N + BLOCK - 1) // BLOCK + 3) // 4,), (BLOCK,)" in after for after in titles.values())


def test_an_attribute_is_the_bound_where_it_stands_in_the_same_call() -> None:
    def covered(head: str, grid: str) -> bool:
        found = kernel(APP.replace(LAUNCH, f"{head}k({grid}, (BLOCK,), (y, x, x.size))\n"))
        return check_covered(found, 0, next(each for each in found.uses("n")))

    assert covered("", "((x.size + BLOCK - 1) // BLOCK,)") is False
    for head, grid in [("", "((y.size + 255) // 256,)"), ("blocks = (x.size + 255) // 256\n", "(blocks,)")]:
        with pytest.raises(Refused, match="is not shown to reach n"):
            covered(head, grid)


@pytest.mark.parametrize(
    ("head", "grid", "is_proven"),
    [
        ("n = x.size\n", "((n + 255) // 256,)", True),
        ("n = x.size\nblocks = (n + BLOCK - 1) // BLOCK\n", "(blocks,)", True),
        ("n = x.size\ngrid = ((n + 255) // 256,)\n", "grid", True),
        ("n = x.size\nblocks = n // BLOCK\n", "(blocks,)", False),
        ("n = x.size\nblocks = (n + 127) // 128\n", "(blocks,)", False),
        ("n = x.size\nblocks = (n + 255) // 256\nn = 2 * n\n", "(blocks,)", False),
        ("for n in sizes:\n    blocks = (n + 255) // 256\n", "(blocks,)", False),
        ("n = 1000\n", "(4,)", True),
        ("n = 1025\n", "(4,)", False),
        ("n = x.size\n", "(4,)", False),
    ],
)
def test_a_grid_reaches_the_bound_by_its_own_expression(head: str, grid: str, is_proven: bool) -> None:
    launch = f"{head}k({grid}, (BLOCK,), (y, x, cp.int32(n)))\n"
    found = kernel(APP.replace(LAUNCH, launch))
    bound = next(node for node in found.of_type("identifier") if found.program.text(node) == "n")
    if not is_proven:
        with pytest.raises(Refused, match="is not shown to reach n"):
            check_covered(found, 0, bound)
    else:
        assert check_covered(found, 0, bound) is head.startswith("n = 1000")


def test_the_launch_may_stand_before_the_string(tmp_path: Path) -> None:
    source = f"{HEAD}def run():\n    {LAUNCH}\n{RAW}{ARRAYS}run()\n"
    edits = changed(source, None)
    assert edits
    for edit in edits:
        after = applied(source, edit, tmp_path)
        assert "k((((N + BLOCK - 1) // BLOCK + 3) // 4,), (BLOCK,), (y, x, N))" in after
        assert block_of(kernel(after)) == (256, 1, 1)


def test_a_string_that_begins_with_the_kernel_is_changed_inside(tmp_path: Path) -> None:
    source = APP.replace("r'''\n", "r'''")
    for edit in changed(source, None):
        after = applied(source, edit, tmp_path)
        assert "k = cp.RawKernel(r'''extern" in after
        assert block_of(kernel(after)) == (256, 1, 1)


@pytest.mark.parametrize("text", ["'''", "a\\\nb", "\\x41"])
def test_a_change_that_the_string_cannot_hold_is_refused(text: str) -> None:
    found = kernel(APP.replace("r'''", "'''"))
    at = found.body.start_byte + 1
    with pytest.raises(Refused, match="cannot hold"):
        check_in_python(found, (Replacement(at, at, text),))
    with pytest.raises(Refused, match="outside of the string"):
        check_in_python(found, (Replacement(0, 1, "x"),))


def test_a_string_of_one_line_holds_no_line_end() -> None:
    found = kernel('import cupy\nk = cupy.RawKernel("__global__ void scale(int *a) { a[0] = 1; }", "scale")\n')
    check_in_python(found, (Replacement(found.body.start_byte + 1, found.body.start_byte + 1, " int b; "),))
    with pytest.raises(Refused, match="cannot hold"):
        check_in_python(found, (Replacement(found.body.start_byte + 1, found.body.start_byte + 1, "\n"),))


def test_the_kernels_of_a_python_file_are_listed() -> None:
    triton = "@triton.jit\ndef add(x_ptr, n, BLOCK: tl.constexpr):\n    pass\n"
    assert kernels_in((APP + triton).encode()) == ["scale", "add"]
    assert kernels_in(b"def broken(:\n# __global__") == []
    assert kernels_in(b"print('__global__ is a word')") == []


def test_a_file_with_a_byte_order_mark_and_letters_is_read(tmp_path: Path) -> None:
    source = "\ufeff" + APP.replace("import cupy", "s = 'ä€'; import cupy").replace(RAW, "é = 'ü'; " + RAW)
    (edit,) = changed(source, literals(6))
    assert edit.edited == source.replace("2.0", "2.0f")


def test_escapes_that_python_does_not_know_give_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    assert block_of(kernel(APP + "s = '\\d'\n")) == (256, 1, 1)
    assert not recwarn.list


def test_a_refusal_is_the_reason_of_the_change() -> None:
    (found, *_) = [each for _, each in changes_for(HEAD + f"s = r'''{SCALE}'''\n", "app.py", "scale", None)]
    assert isinstance(found, NoEdit)
    assert "is not compiled in this file" in found.reason


@needs_gpp
def test_string_and_grid_together_compute_what_they_did(tmp_path: Path) -> None:
    source = APP.replace("N = 1 << 20\n", "N = int(input())\n")
    made = {edit.edited: edit for edit in changed(source, None)}
    assert len(made) == 2
    for edit in made.values():
        after = applied(source, edit, tmp_path)
        for n in (1, 255, 1000, 4096):
            (_, before_grid), (text, grid) = (_run(each, n) for each in (source, after))
            given = np.arange(n, dtype=np.float32)
            arguments: list[Array | np.generic] = [np.zeros(n, np.float32), given, np.int32(n)]
            same(SCALE, text, arguments, before_grid, (256, 1, 1), kernel="scale", grid_after=grid, orders=SOME_ORDERS)


def _run(source: str, n: int) -> tuple[str, tuple[int, int, int]]:
    """The CUDA source and the grid that a program passes for a size."""
    found: dict[str, Any] = {}

    class Cupy(ModuleType):
        float32 = "float32"

        def RawKernel(self, code: str, name: str) -> Any:  # noqa: N802 - the name in CuPy
            assert name == "scale"
            found["code"] = code
            return lambda grid, block, _: found.update(grid=grid, block=block)

        def arange(self, size: int, *, dtype: str) -> int:
            assert dtype == self.float32
            return size

        def empty_like(self, other: int) -> int:
            return other

    program = source.replace("import cupy as cp\n", "")
    exec(compile(program, "app.py", "exec"), {"cp": Cupy("cupy"), "input": lambda: str(n)})
    assert found["block"] == (256,)
    return found["code"], (found["grid"][0], 1, 1)
