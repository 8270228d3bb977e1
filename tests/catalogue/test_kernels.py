"""The kernels of the catalogue: every file is complete, and errors name file and key."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from ncuview.base.errors import KernelFileError, UnknownFamily, UnknownKernel
from ncuview.base.paths import shipped
from ncuview.catalogue.kernel_file import Kernel, load_kernels
from ncuview.catalogue.kernels import all_kernels, family, find_kernel, launch_of, launches_of
from ncuview.catalogue.reference import ORACLES
from ncuview.engine.rule_file import OPTIMIZATIONS
from ncuview.metrics.textbook import definitions
from tests.together import together

PATHS = sorted(shipped("kernels").glob("*/*.cu"))
FAMILIES = sorted({path.parent.name for path in PATHS})
DOCUMENTS = tomllib.loads((shipped("rules") / "documents.toml").read_text(encoding="utf-8"))
SHIPPED = (shipped("kernels") / "transpose" / "transposeCoalesced.cu").read_text(encoding="utf-8")


each_kernel = together("kernel", all_kernels(), name=lambda kernel: kernel.name)
"""Each kernel of the catalogue, and each of its variants."""


@each_kernel
def test_a_kernel_bears_the_name_of_its_file_family_and_function(kernel: Kernel) -> None:
    assert (kernel.text.family, kernel.function) == (kernel.path.parent.name, kernel.path.stem)
    assert re.search(
        rf"\b__global__ (?:__\w+__\([^)]*\) )?void.*\b{kernel.function}\(", kernel.path.read_text(encoding="utf-8")
    )


@each_kernel
def test_its_better_kernel_is_a_later_step_of_its_family(kernel: Kernel) -> None:
    if kernel.text.better:
        better = find_kernel(kernel.text.better)
        assert better.text.family == kernel.text.family
        assert better.name != kernel.name


@each_kernel
def test_its_document_is_listed(kernel: Kernel) -> None:
    assert kernel.text.document in DOCUMENTS


@each_kernel
def test_its_oracle_exists(kernel: Kernel) -> None:
    assert kernel.text.oracle in ORACLES


@each_kernel
def test_it_expects_words_of_the_closed_list(kernel: Kernel) -> None:
    expect = kernel.text.expect
    assert {*expect.quiet, *filter(None, [expect.first])} <= set(OPTIMIZATIONS)
    assert (expect.first is None) != (expect.verdict is None)
    assert expect.first not in expect.quiet


@each_kernel
def test_its_launch_fits_on_a_gpu(kernel: Kernel) -> None:
    launch = launch_of(kernel)
    x, y, z = launch.block
    assert x * y * z <= 1024
    assert min(*launch.grid, *launch.block) > 0
    assert max(launch.grid[1:]) <= 65535


def parameters_of(kernel: Kernel) -> list[str]:
    """The parameters of the function's definition, as written."""
    found = re.search(rf"\b{kernel.function}\(([^)]*)\)(?:\s*//[^\n]*)?\s*\{{", kernel.path.read_text(encoding="utf-8"))
    assert found
    return [parameter for parameter in found[1].split(",") if parameter.strip()]


@each_kernel
def test_it_has_one_argument_for_each_parameter(kernel: Kernel) -> None:
    names = [re.findall(r"\w+", parameter)[-1] for parameter in parameters_of(kernel)]
    assert [argument.name for argument in kernel.text.args if not argument.kind.startswith("constant ")] == names


TYPES = {
    "float": "float32",
    "float4": "float32",
    "float2": "float32",
    "double": "float64",
    "int": "int32",
    "int2": "int32",
    "int4": "int32",
    "unsigned": "uint32",
    "uint4": "uint32",
    "long": "uint32",
}


@each_kernel
def test_it_is_launched_with_what_its_parameters_take(kernel: Kernel) -> None:
    arguments = [argument for argument in launch_of(kernel).args if argument["role"] != "constant"]
    for parameter, argument in zip(parameters_of(kernel), arguments, strict=True):
        if argument["role"] == "texture":
            assert "cudaTextureObject_t" in parameter
            continue
        spelled = {TYPES[word] for word in re.findall(r"\w+", parameter) if word in TYPES}
        assert not spelled or argument["dtype"] in spelled
        assert (argument["role"] == "scalar") == ("*" not in parameter)


@each_kernel
def test_a_textbook_step_leads_from_a_kernel_of_the_family(kernel: Kernel) -> None:
    if step := kernel.text.step:
        assert find_kernel(step.after).text.family == kernel.text.family
        assert step.applies in OPTIMIZATIONS


@each_kernel
def test_what_it_predicts_is_a_textbook_metric(kernel: Kernel) -> None:
    assert set(kernel.text.predicts) <= definitions().keys()


@each_kernel
def test_it_says_what_work_its_problem_needs(kernel: Kernel) -> None:
    assert kernel.text.useful.bytes or kernel.text.useful.flops


@together("name", FAMILIES)
def test_the_steps_of_a_ladder_are_in_order_and_differ(name: str) -> None:
    steps = [kernel.text.step_number for kernel in family(name)]
    assert steps == sorted(set(steps))


@together("name", FAMILIES)
def test_a_ladder_has_an_end(name: str) -> None:
    better = {kernel.name: kernel.text.better for kernel in family(name)}
    for start in better:
        seen, at = set[str](), start
        while (following := better[at]) is not None:
            seen.add(at)
            assert following not in seen
            at = following


def test_the_catalogue_has_every_kernel_once() -> None:
    names = [kernel.name for kernel in all_kernels()]
    assert len(names) == len(set(names))
    assert {kernel.path for kernel in all_kernels()} == set(PATHS)


@pytest.mark.parametrize(("wrong", "meant"), [("transposeNaiv", "transposeNaive"), ("copyrow", "copyRow")])
def test_an_unknown_kernel_brings_the_nearest_name(wrong: str, meant: str) -> None:
    with pytest.raises(UnknownKernel, match=wrong) as refusal:
        find_kernel(wrong)
    assert meant in refusal.value.hint


@pytest.mark.parametrize("wrong", ["", "../kernels", "/etc", "fft", "transpose/../transpose"])
def test_an_unknown_family_brings_the_known_ones(wrong: str) -> None:
    with pytest.raises(UnknownFamily) as refusal:
        family(wrong)
    assert all(name in refusal.value.hint for name in FAMILIES)


def test_a_better_kernel_is_also_launched_at_the_sizes_of_the_kernel_that_it_improves() -> None:
    kernels = family("transpose")
    launches = launches_of(kernels)
    made = {(launch.kernel.name, tuple(launch.sizes.items())) for launch in launches}
    by_name = {kernel.name: kernel for kernel in kernels}
    assert len(made) == len(launches)
    for kernel in kernels:
        assert (kernel.name, tuple(kernel.text.sizes.items())) in made
        better = by_name.get(kernel.text.better or "")
        if better and better.text.sizes.keys() == kernel.text.sizes.keys() and better.function != kernel.function:
            assert (better.name, tuple(kernel.text.sizes.items())) in made


def test_sizes_decide_grid_arguments_and_useful_bytes() -> None:
    launch = launch_of(find_kernel("transposeCoalesced"), {"n": 64})
    assert (launch.grid, launch.block, launch.useful_bytes) == ((2, 2, 1), (32, 8, 1), 2 * 4 * 64 * 64)
    assert launch.args[0] == {"role": "out", "dtype": "float32", "shape": [64, 64]}
    assert launch.args[2] == {"role": "scalar", "dtype": "int32", "value": 64.0}


def written(folder: Path, text: str) -> Path:
    path = folder / "transpose" / "transposeCoalesced.cu"
    path.parent.mkdir()
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("/*--- ncuview", "/* ncuview", "no front matter"),
        ("\n---*/", "\n*/", "no front matter"),
        ('teaches = "', 'teach = "', "teaches: "),
        ("step_number = 21", "step_number = 'last'", "step_number: "),
        ("step_number = 21", "step_number = 21\nhurry = 1", "hurry: "),
        ("schema = 1", "schema = 2", "schema: "),
        ("n = 8192", "n = 8192.5", "sizes.n: "),
        ('block = ["32", "8"]', "block = []", "launch.block: "),
        ('block = ["32", "8"]', 'block = ["1", "1", "1", "1"]', "launch.block: "),
        ('[expect]\nfirst = "', '[expect]\nverdict = "', "expect.verdict: "),
        ("[launch]", "[launch", ""),
        ('family = "transpose"', 'family = "reduce"', "name and family must be those of the file"),
        ('name = "transposeCoalesced"', 'name = "transpose"', "name and family must be those of the file"),
    ],
)
def test_what_is_wrong_in_the_front_matter_is_named_with_file_and_key(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    with pytest.raises(KernelFileError) as refusal:
        load_kernels(written(tmp_path, SHIPPED.replace(old, new, 1)))
    assert f"transposeCoalesced.cu: {said}" in str(refusal.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('["n / 32", "n / 32"]', '["n / 30", "1"]', "launch.grid: 'n / 30' gives 273.067, not a positive integer"),
        ('["n / 32", "n / 32"]', '["m"]', "launch.grid: unknown name 'm'"),
        ('["n / 32", "n / 32"]', "[\"open('x')\"]", "launch.grid: "),
        ('["n / 32", "n / 32"]', '["0"]', "launch.grid: '0' gives 0"),
        ('["n / 32", "n / 32"]', '["-n"]', "launch.grid: '-n' gives -8192"),
        ('["n / 32", "n / 32"]', '["n / 0"]', "launch.grid: 'n / 0' gives nan"),
        ("out float32[n, n]", "out float32[n, q]", "args.odata: unknown name 'q'"),
        ("out float32[n, n]", "out half[n, n]", "args.odata: 'out half[n, n]' is no kind of argument"),
        ("out float32[n, n]", "inout float32[n, n]", "args.odata: "),
        ("int32 = n", "int32 == n", "args.n: "),
        ('bytes = "2 * 4 * n * n"', 'bytes = "2 * 4 / n"', "useful.bytes: "),
    ],
)
def test_arithmetic_that_gives_no_launch_is_named_with_file_and_key(
    tmp_path: Path, old: str, new: str, said: str
) -> None:
    kernel = load_kernels(written(tmp_path, SHIPPED.replace(old, new, 1)))[0]
    with pytest.raises(KernelFileError) as refusal:
        launch_of(kernel)
    assert f"transposeCoalesced.cu: {said}" in str(refusal.value)
