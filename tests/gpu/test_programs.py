"""Programs, Python files and bare .cu files of a user's, under the real ncu."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ncuview.api import load_rules, read
from ncuview.base.errors import NothingProfiled, ProgramFailed
from ncuview.catalogue.live import profile_live
from ncuview.catalogue.user_kernel import LaunchOptions, user_launch
from ncuview.engine.plan import metrics_for
from ncuview.profiling.machine import find_nvcc
from ncuview.profiling.options import CacheControl, ClockControl, NcuOptions, ReplayMode
from ncuview.profiling.program import python_script, run_program
from ncuview.reader.precheck import launches_in

pytestmark = pytest.mark.gpu

SOURCE = """\
#include <cstdio>
#include <cstdlib>
#include <cstring>
namespace blas {
template <typename T> __global__ void scale(size_t n, T a, T *x) {
    size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
    if (i < n) x[i] *= a;
}
}
__global__ void fill(float *x, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = i;
}
int main(int argc, char **argv) {
    int n = 1 << 20;
    float *x;
    cudaMalloc(&x, n * sizeof(float));
    fill<<<n / 256, 256>>>(x, n);
    for (int i = 0; i < 5; i++) blas::scale<float><<<n / 256, 256>>>(n, 2.0f, x);
    if (cudaDeviceSynchronize() != cudaSuccess) return 4;
    printf("done\\n");
    if (argc > 2 && !strcmp(argv[1], "-k")) return atoi(argv[2]);
    return 0;
}
"""
SCRIPT = """\
import sys
import numpy as np
import pycuda.autoinit
import pycuda.driver as cuda
from pycuda.compiler import SourceModule
doubled = SourceModule("__global__ void doubled(float *x) { x[threadIdx.x] *= 2; }").get_function("doubled")
x = cuda.to_device(np.ones(256, np.float32))
doubled(x, block=(256, 1, 1))
cuda.Context.synchronize()
sys.exit(int(sys.argv[2]))
"""
METRICS = metrics_for(load_rules())


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "work").mkdir()
    (tmp_path / "mine.cu").write_text(SOURCE)
    return tmp_path / "mine.cu"


@pytest.fixture
def app(source: Path) -> str:
    nvcc = find_nvcc()
    assert nvcc is not None
    subprocess.run([nvcc, "-arch=native", "-lineinfo", "-o", "app", source.name], cwd=source.parent, check=True)
    return "./app"


def kernels(reports: tuple[Path, ...]) -> list[str]:
    return list(read(*reports).launches["kernel"])


def test_the_launches_that_were_chosen_are_profiled(app: str, tmp_path: Path) -> None:
    options = NcuOptions(kernel_name="regex:^sc", launch_skip=1, launch_count=2)
    reports = run_program(
        [app, "-k", "0"], METRICS, tmp_path / "work", options, launches_in=launches_in
    ).complete_reports()
    assert kernels(reports) == ["scale", "scale"]
    assert "mine.cu" in {Path(file).name for file in read(*reports).instructions["file"]}


@pytest.mark.parametrize(
    "options",
    [
        NcuOptions(replay_mode=ReplayMode.APPLICATION, launch_count=1),
        NcuOptions(clock_control=ClockControl.BASE, cache_control=CacheControl.NONE, launch_count=1),
        NcuOptions(ncu_args="--verbose --check-exit-code yes", launch_count=1),
        NcuOptions(kernel_id="::scale:2"),
    ],
    ids=["application replay", "clocks and caches", "ncu-args", "kernel-id"],
)
def test_options_that_the_real_ncu_takes(app: str, tmp_path: Path, options: NcuOptions) -> None:
    assert (
        len(
            kernels(run_program([app], METRICS, tmp_path / "work", options, launches_in=launches_in).complete_reports())
        )
        == 1
    )


def test_a_program_that_is_ended_after_its_count_has_not_failed(app: str, tmp_path: Path) -> None:
    options = NcuOptions(launch_count=2, kill=True)
    assert kernels(
        run_program([app], METRICS, tmp_path / "work", options, launches_in=launches_in).complete_reports()
    ) == [
        "fill",
        "scale",
    ]


def test_an_export_with_a_macro_is_found(app: str, tmp_path: Path) -> None:
    export = tmp_path / "mine-%p"
    (report,) = run_program(
        [app], METRICS, tmp_path / "work", NcuOptions(launch_count=1), export=export, launches_in=launches_in
    ).complete_reports()
    assert report.stem.removeprefix("mine-").isdecimal()


def test_a_program_that_fails_is_quoted(app: str, tmp_path: Path) -> None:
    with pytest.raises(ProgramFailed, match=r"(?s)exit code 3.*done"):
        run_program([app, "-k", "3"], METRICS, tmp_path / "work", launches_in=launches_in).complete_reports()


@pytest.mark.parametrize("options", [NcuOptions(kernel_name="scael"), NcuOptions(launch_skip=99)])
def test_a_choice_of_nothing_names_the_kernels(app: str, tmp_path: Path, options: NcuOptions) -> None:
    with pytest.raises(NothingProfiled) as failure:
        run_program([app], METRICS, tmp_path / "work", options, launches_in=launches_in)
    assert "scale" in failure.value.hint
    assert "fill" in failure.value.hint


def test_a_python_file_is_profiled(source: Path, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(SCRIPT)
    script = python_script(Path("train.py"), ["-k", "0"])
    assert kernels(run_program(script, METRICS, tmp_path / "work", launches_in=launches_in).complete_reports()) == [
        "doubled"
    ]


def test_a_bare_source_is_launched_as_the_command_line_says(source: Path, tmp_path: Path) -> None:
    words = LaunchOptions(
        kernel="blas::scale<double>",
        grid="n / 256",
        block="256",
        args=("uint64 = n", "float64 = 2", "in float64[n]"),
        sizes=("n=1048576",),
    )
    profile = read(profile_live([user_launch(source, words)], METRICS, tmp_path / "work"))
    (launch,) = profile.launches.itertuples()
    assert (launch.kernel, launch.grid_x, launch.block_x) == ("scale", 4096, 256)
    assert "mine.cu" in set(profile.instructions["file"])
