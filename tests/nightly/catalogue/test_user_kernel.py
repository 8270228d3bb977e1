"""A user's own .cu file: launched by its front matter or the command line, under any C++ name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import CompileFailed, KernelFileError, NcuviewError, ToolError, UsageError
from ncuview.base.paths import shipped
from ncuview.catalogue import live
from ncuview.catalogue.compiler import Compiled, compile_user_kernel
from ncuview.catalogue.kernels import Launch, find_kernel, launch_of, next_in_textbook
from ncuview.catalogue.live import compile_all, host_program, profile_live
from ncuview.catalogue.user_kernel import LaunchOptions, check_arguments, not_checked, user_launch
from ncuview.profiling.machine import find_nvcc
from ncuview.profiling.options import ClockControl, NcuOptions

NVCC = find_nvcc()
needs_nvcc = pytest.mark.skipif(NVCC is None, reason="nvcc is not installed")

SAXPY = """\
#include "scaled.h"
__global__ void saxpy(int n, float a, const float *x, float *y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = SCALED(a) * x[i] + y[i];
}
"""
HEADER = "#pragma once\n#define SCALED(a) (2 * (a))\n"
WORDS = LaunchOptions(
    kernel="saxpy",
    grid="n / 256",
    block="256",
    args=("int32 = n", "float32 = 3 / 2", "in float32[n] below 4", "in float32[n]"),
    sizes=("n=4096",),
)
FRONT = """\
/*--- ncuview
name = "saxpy"
[sizes]
n = 4096
[launch]
grid = ["n / 256"]
block = ["256"]
[[args]]
name = "n"
kind = "int32 = n"
[[args]]
name = "a"
kind = "float32 = 2"
[[args]]
name = "x"
kind = "in float32[n]"
[[args]]
name = "y"
kind = "out float32[n]"
---*/
"""


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file ``src/mine.cu`` with its header, seen from the folder above."""
    folder = tmp_path / "src"
    folder.mkdir()
    (folder / "scaled.h").write_text(HEADER)
    path = folder / "mine.cu"
    path.write_text(SAXPY)
    monkeypatch.chdir(tmp_path)
    return path


def words(**changed: Any) -> LaunchOptions:
    return LaunchOptions(**{**WORDS.__dict__, **changed})


# The launch


def test_the_command_line_says_how_a_bare_file_is_launched(source: Path) -> None:
    launch = user_launch(source, WORDS)
    assert (launch.grid, launch.block, launch.shared, launch.sizes) == ((16, 1, 1), (256, 1, 1), 0, {"n": 4096})
    assert launch.args == (
        {"role": "scalar", "dtype": "int32", "value": 4096.0},
        {"role": "scalar", "dtype": "float32", "value": 1.5},
        {"role": "in", "dtype": "float32", "shape": [4096], "name": "3", "below": 4},
        {"role": "in", "dtype": "float32", "shape": [4096], "name": "4", "below": 0},
    )
    assert (launch.kernel.name, launch.kernel.function) == ("saxpy", "saxpy")


def test_front_matter_needs_a_name_a_launch_arguments_and_sizes(source: Path) -> None:
    source.write_text(FRONT + SAXPY)
    launch = user_launch(source, LaunchOptions())
    assert (launch.grid, launch.block, launch.useful_bytes) == ((16, 1, 1), (256, 1, 1), 0)
    assert [argument["role"] for argument in launch.args] == ["scalar", "scalar", "in", "out"]


def test_sizes_of_the_command_line_go_before_those_of_the_file(source: Path) -> None:
    source.write_text(FRONT + SAXPY)
    assert user_launch(source, LaunchOptions(sizes=("n=512",))).grid == (2, 1, 1)


def test_a_kernel_of_the_command_line_replaces_the_launch_of_the_file(source: Path) -> None:
    source.write_text(FRONT + SAXPY)
    assert user_launch(source, words(grid="1, 2, 3")).grid == (1, 2, 3)


def test_a_copy_of_a_catalogue_kernel_may_have_any_name_and_family(tmp_path: Path) -> None:
    text = find_kernel("transposeCoalesced").path.read_text(encoding="utf-8")
    copy = tmp_path / "mine.cu"
    copy.write_text(text.replace('family = "transpose"', 'family = "another"'), encoding="utf-8")
    launch = user_launch(copy, LaunchOptions())
    assert (launch.kernel.text.oracle, not_checked(launch)) == ("transpose_CPU", "")
    assert launch.useful_bytes == launch_of(find_kernel("transposeCoalesced")).useful_bytes
    assert next_in_textbook(launch.kernel) == []


def test_a_remark_names_results_that_cannot_be_checked(source: Path) -> None:
    assert not_checked(user_launch(source, WORDS)) == ("the results of saxpy are not checked, since it has no oracle")


@pytest.mark.parametrize(
    ("grid", "extents"), [("n/256", (16, 1, 1)), ("min(n, 8), max(2, 4)", (8, 4, 1)), (" 1 ,2, 3 ", (1, 2, 3))]
)
def test_a_comma_within_parentheses_separates_no_extents(
    source: Path, grid: str, extents: tuple[int, int, int]
) -> None:
    assert user_launch(source, words(grid=grid)).grid == extents


def test_a_constant_is_named(source: Path) -> None:
    (argument,) = user_launch(source, words(args=("weights: constant float32[9]",))).args
    assert (argument["role"], argument["name"]) == ("constant", "weights")


@pytest.mark.parametrize(
    ("changed", "error", "said"),
    [
        ({"grid": ""}, UsageError, "saxpy needs --grid"),
        ({"block": ""}, UsageError, "saxpy needs --block"),
        ({"grid": "1,2,3,4"}, UsageError, "no x, y and z"),
        ({"grid": "1,,2"}, UsageError, "no x, y and z"),
        ({"grid": "n / 0"}, KernelFileError, "launch.grid"),
        ({"block": "m"}, KernelFileError, "unknown name 'm'"),
        ({"shared": "n / 3"}, KernelFileError, "launch.shared"),
        ({"args": ("in half[n]",)}, KernelFileError, r"args\.1: 'in half\[n\]' is no kind of argument"),
        ({"args": ("constant float32[n]",)}, UsageError, "the __constant__ symbol"),
        ({"sizes": ("n",)}, UsageError, "is no size"),
        ({"sizes": ("n=2.5",)}, UsageError, "is no size"),
        ({"sizes": ("n=1", "n=2")}, UsageError, "given twice"),
        ({"kernel": 'f); system("x"'}, KernelFileError, "no name of a kernel"),
        ({"kernel": "f<1>; int x"}, KernelFileError, "no name of a kernel"),
        ({"nvcc_args": "-I 'x"}, UsageError, "--nvcc-args"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_named(
    source: Path, changed: dict[str, Any], error: type[NcuviewError], said: str
) -> None:
    with pytest.raises(error, match=said) as refusal:
        user_launch(source, words(**changed))
    assert refusal.value.exit_code == 2


def test_a_bare_file_without_a_launch_says_which_kernels_it_has_and_what_to_type(source: Path) -> None:
    source.write_text(
        SAXPY + "template <int N>\n__global__ void __launch_bounds__(256, 2)\nscale(float *x) { x[0] = N; }\n"
    )
    with pytest.raises(UsageError, match=r"mine\.cu does not define how its kernel is launched") as refusal:
        user_launch(source, LaunchOptions(sizes=("n=4",)))
    assert refusal.value.hint.startswith("It has saxpy, scale. Define it (--kernel saxpy --grid")


def test_the_only_kernel_of_a_file_needs_no_name(source: Path) -> None:
    assert user_launch(source, words(kernel="")).kernel.text.name == "saxpy"
    source.write_text(f"// __global__ void other() {{}}\nnamespace blas {{ namespace {{\n{SAXPY}}} }}\n")
    assert user_launch(source, words(kernel="")).kernel.text.name == "blas::saxpy"


@pytest.mark.parametrize(
    ("text", "said", "hint"),
    [
        (SAXPY + SAXPY.replace("saxpy", "other"), r"mine\.cu has 2 kernels: saxpy, other", "--kernel saxpy"),
        (
            SAXPY.replace("__global__", "template <typename T>\nstatic __global__"),
            "saxpy in .* is a template",
            "<float>",
        ),
        ("int n;\n", r"mine\.cu shows no __global__ function", "--kernel"),
    ],
    ids=["several", "template", "none"],
)
def test_a_launch_without_the_name_of_the_kernel_is_refused_where_it_must_be_chosen(
    source: Path, text: str, said: str, hint: str
) -> None:
    source.write_text(text)
    with pytest.raises(UsageError, match=said) as refusal:
        user_launch(source, words(kernel=""))
    assert hint in refusal.value.hint


def test_part_of_a_launch_in_addition_to_front_matter_is_refused(source: Path) -> None:
    source.write_text(FRONT + SAXPY)
    for changed, option in (({"block": "128"}, "--block"), ({"args": ("int32 = n",)}, "--arg ")):
        with pytest.raises(UsageError, match=option):
            user_launch(source, LaunchOptions(**changed))


def test_a_size_that_the_file_does_not_have(source: Path) -> None:
    source.write_text(FRONT + SAXPY)
    with pytest.raises(UsageError, match=r"mine\.cu has no size 'm'") as refusal:
        user_launch(source, LaunchOptions(sizes=("m=1",)))
    assert refusal.value.hint == "It has n."


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "saxpy"\n', "", "name: Field required"),
        ('[launch]\ngrid = ["n / 256"]\nblock = ["256"]\n', "", "launch: Field required"),
        ("[sizes]", "hurry = 1\n[sizes]", "hurry: "),
        ('name = "saxpy"', 'name = "saxpy"\noracle = "missing"', "oracle: there is no 'missing'"),
        ("[sizes]\n", "[sizes\n", ""),
    ],
)
def test_what_is_wrong_in_front_matter_is_named(source: Path, old: str, new: str, said: str) -> None:
    assert old in FRONT
    source.write_text(FRONT.replace(old, new, 1) + SAXPY)
    with pytest.raises(KernelFileError) as refusal:
        user_launch(source, LaunchOptions())
    assert said in str(refusal.value)
    assert "mine.cu" in str(refusal.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(KernelFileError, match="cannot be read"):
        user_launch(tmp_path / "none.cu", LaunchOptions())


def test_a_source_in_another_encoding_can_be_launched(source: Path) -> None:
    source.write_bytes(b"// \xe9\xff\n" + SAXPY.encode())
    assert user_launch(source, WORDS).grid == (16, 1, 1)


@given(st.lists(st.text(), max_size=4), st.text(), st.text(), st.lists(st.text(), max_size=3), st.text())
def test_any_words_give_a_launch_or_an_error_of_ours(
    args: list[str], grid: str, block: str, sizes: list[str], kernel: str
) -> None:
    asked = LaunchOptions(kernel=kernel, grid=grid, block=block, args=tuple(args), sizes=tuple(sizes))
    try:
        launch = user_launch(find_kernel("copy").path, asked)
    except NcuviewError as error:
        assert error.exit_code == 2  # noqa: PT017  (most words give an error)
    else:
        assert min(*launch.grid, *launch.block) >= 1


# The compiler


def compiled(launch: Launch, folder: Path) -> Compiled:
    assert NVCC is not None
    (folder / "build").mkdir(exist_ok=True)
    return compile_user_kernel(NVCC, launch.kernel, folder / "build", "sm_90")


NAMES = """\
#include <cuda_fp16.h>
namespace blas {
namespace {
template <typename T, int unroll = 2> __global__ void scale(T *x, size_t n) {
    for (int i = 0; i < unroll; i++) x[i * n] = x[i * n] * T(2);
}
}
struct Pair { float a; float b; double c; };
__global__ void shifted(Pair p, __half h, bool b, unsigned char c, float *y) { y[c] = p.a + float(h) + b; }
}
extern "C" __global__ void plain(float *x) { x[0] = 1; }
static __global__ void __launch_bounds__(64) hidden(double d, long long n, short s) {}
__global__ void over(float *x) { x[0] = 1; }
__global__ void over(int *x) { x[0] = 1; }
int main() { plain<<<1, 1>>>(nullptr); return 0; }
"""


@needs_nvcc
@pytest.mark.parametrize(
    ("kernel", "function", "mangled", "parameters"),
    [
        ("plain", "plain", "plain", [(8, "i")]),
        ("hidden", "hidden", "_Z6hiddendxs", [(8, "f"), (8, "i"), (2, "i")]),
        ("blas::scale<float>", "scale", "5scaleIfLi2EE", [(8, "i"), (8, "i")]),
        ("blas::scale<__half, 4>", "scale", "5scaleI6__halfLi4EE", [(8, "i"), (8, "i")]),
        (":: blas :: scale< double ,2>", "scale", "5scaleIdLi2EE", [(8, "i"), (8, "i")]),
        ("blas::shifted", "shifted", "_ZN4blas7shifted", [(16, "V"), (2, "V"), (1, "i"), (1, "i"), (8, "i")]),
    ],
)
def test_a_kernel_is_found_under_the_name_that_cpp_gives_it(
    source: Path, tmp_path: Path, kernel: str, function: str, mangled: str, parameters: list[tuple[int, str]]
) -> None:
    source.write_text(NAMES)
    launch = user_launch(source, words(kernel=kernel, args=()))
    machine_code = compiled(launch, tmp_path)
    assert launch.kernel.function == function
    assert mangled in machine_code.symbol()
    assert f".text.{machine_code.symbol()}\0".encode() in machine_code.cubin.read_bytes()
    assert [(each.bytes, each.kind) for each in machine_code.parameters] == parameters


@needs_nvcc
def test_template_arguments_of_front_matter_instantiate_the_template(source: Path, tmp_path: Path) -> None:
    body = SAXPY.replace("__global__", "template <int unroll, int more>\n__global__")
    source.write_text(FRONT.replace("block =", 'template = ["n / 1024", "2"]\nblock =') + body)
    launch = user_launch(source, LaunchOptions())
    assert (launch.kernel.name, launch.kernel.function) == ("saxpy<4, 2>", "saxpy")
    assert compiled(launch, tmp_path).symbol().startswith("_Z5saxpyILi4ELi2EE")


@needs_nvcc
def test_the_helper_kernel_for_the_mangled_name_is_removed(source: Path, tmp_path: Path) -> None:
    code = compiled(user_launch(source, WORDS), tmp_path).cubin.read_bytes()
    assert b"saxpy" in code
    assert b"ncuview_asked" not in code


@needs_nvcc
def test_source_lines_are_named_from_the_folder_that_ncuview_runs_in(source: Path, tmp_path: Path) -> None:
    launch = user_launch(Path("src/mine.cu"), WORDS)
    code = compiled(launch, tmp_path).cubin.read_bytes()
    assert launch.kernel.root == tmp_path
    assert b"src/mine.cu\0" in code or (b"src\0" in code and b"mine.cu\0" in code)
    assert str(source.parent).encode() not in code


@needs_nvcc
def test_source_lines_of_a_file_elsewhere_are_named_from_its_own_folder(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    launch = user_launch(source, WORDS)
    assert launch.kernel.root == source.parent
    assert b"mine.cu\0" in compiled(launch, tmp_path).cubin.read_bytes()


@needs_nvcc
def test_nvcc_is_given_further_options(source: Path, tmp_path: Path) -> None:
    source.write_text(SAXPY.replace('"scaled.h"', "<scaled.h>").replace("SCALED", "NAME"))
    with pytest.raises(CompileFailed, match=r"(?s)nvcc rejects src/mine\.cu:.*scaled\.h"):
        compiled(user_launch(source, WORDS), tmp_path)
    asked = words(nvcc_args="-Isrc '-DNAME(a)=SCALED(a)' -arch=sm_80")
    image = compiled(user_launch(source, asked), tmp_path).cubin.read_bytes()
    assert 80 in {image[48], image[49]}


@needs_nvcc
@pytest.mark.parametrize(("kernel", "said"), [("over", "overloaded"), ("blas::scale", "cannot determine")])
def test_an_ambiguous_kernel_is_reported_in_nvccs_words(source: Path, tmp_path: Path, kernel: str, said: str) -> None:
    source.write_text(NAMES)
    with pytest.raises(CompileFailed, match=rf"(?s)nvcc rejects src/mine\.cu.*{said}"):
        compiled(user_launch(source, words(kernel=kernel)), tmp_path)


@needs_nvcc
def test_arguments_that_fit_the_compiled_kernel(source: Path, tmp_path: Path) -> None:
    launch = user_launch(source, WORDS)
    check_arguments(launch, compiled(launch, tmp_path).parameters)


@needs_nvcc
@pytest.mark.parametrize(
    ("args", "said"),
    [
        (WORDS.args[:3], "saxpy takes 4 arguments, and its launch gives 3"),
        ((*WORDS.args, "int32 = 1"), "saxpy takes 4 arguments, and its launch gives 5"),
        (("float32 = 1", *WORDS.args[1:]), "argument 1 of saxpy is a 32-bit integer, and its launch gives float32"),
        (("uint64 = n", *WORDS.args[1:]), "argument 1 of saxpy is a 32-bit integer, and its launch gives uint64"),
        ((WORDS.args[0], "int32 = 1", *WORDS.args[2:]), "argument 2 of saxpy is float32, and its launch gives int32"),
        ((*WORDS.args[:2], "float64 = 1", WORDS.args[3]), "argument 3 of saxpy is a pointer or a 64-bit integer"),
        (("out int32[n]", *WORDS.args[1:]), "argument 1 of saxpy is a 32-bit integer, and its launch gives an array"),
    ],
)
def test_arguments_that_the_driver_would_take_and_the_kernel_would_not(
    source: Path, tmp_path: Path, args: tuple[str, ...], said: str
) -> None:
    launch = user_launch(source, words(args=args))
    with pytest.raises(KernelFileError) as refusal:
        check_arguments(launch, compiled(launch, tmp_path).parameters)
    assert said in str(refusal.value)


@needs_nvcc
def test_the_host_process_gets_all_that_it_needs(source: Path, tmp_path: Path) -> None:
    assert NVCC is not None
    launch = user_launch(source, words(nvcc_args="-arch=sm_90", shared="1024"))
    code = compile_all(NVCC, [launch.kernel], tmp_path)
    program, _ = host_program([launch], code, tmp_path)
    (entry,) = json.loads(Path(program[-2]).read_text())["launches"]
    assert (entry["symbol"], entry["oracle"], entry["transfers"]) == ("_Z5saxpyifPKfPf", None, None)
    assert (entry["grid"], entry["block"], entry["shared"]) == ([16, 1, 1], [256, 1, 1], 1024)
    assert Path(entry["cubin"]).read_bytes().startswith(b"\x7fELF")


# Without a GPU, and with options that have no meaning here


def test_without_a_gpu_a_users_kernel_ends_with_what_is_missing(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="no NVIDIA GPU here") as missing:
        profile_live([user_launch(source, WORDS)], ["m"], tmp_path, options=NcuOptions(clock_control=ClockControl.BASE))
    assert missing.value.exit_code == 5


def test_options_that_choose_among_launches_are_refused_for_a_kernel_file(source: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--launch-skip selects"):
        profile_live([user_launch(source, WORDS)], ["m"], tmp_path, options=NcuOptions(launch_skip=1))


def test_results_without_an_oracle_are_accepted_as_unchecked(tmp_path: Path) -> None:
    result = tmp_path / "launches.json"
    result.write_text(json.dumps({"launches": [{"kernel": "saxpy", "wrong_elements": None}]}))
    live.check_results(result)


def test_kernels_of_the_catalogue_lie_below_their_root() -> None:
    kernel = find_kernel("transposeCoalesced")
    assert (kernel.root, kernel.of_catalogue, kernel.nvcc_args) == (shipped("kernels"), True, ())
