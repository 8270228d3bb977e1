"""The pytest plugin on a GPU: a program is profiled in a test, and its report is kept."""

from __future__ import annotations

import subprocess

import pytest

from ncuview import api
from ncuview.profiling.machine import find_nvcc
from ncuview.testing import KernelResult

pytestmark = pytest.mark.gpu
pytest_plugins = ["pytester"]

SOURCE = """\
__global__ void column(float *out, const float *in) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
    __syncthreads();
    out[threadIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
int main() {
    float *in, *out;
    cudaMalloc(&in, 4096);
    cudaMalloc(&out, 4096);
    for (int i = 0; i < 5; i++) column<<<1024, dim3(32, 32)>>>(out, in);
    return cudaDeviceSynchronize() != cudaSuccess;
}
"""


def test_a_program_is_profiled_in_a_test(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    program, source = pytester.path / "column", pytester.path / "column.cu"
    source.write_text(SOURCE)
    subprocess.run([str(find_nvcc()), "-arch=native", "-lineinfo", "-o", str(program), str(source)], check=True)
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile(f"""
        import pytest

        @pytest.mark.ncuview(launch_count=3)
        def test_column(ncuview):
            r = ncuview.profile([{str(program)!r}])
            assert len(r.launches) == 3
            assert r["shared_bank_conflict_ways"] == 16.5
            assert r["shared_load_transactions_per_request"] == 32
            assert r.duration_ns > 0

        def test_column_fails(ncuview):
            assert ncuview.profile([{str(program)!r}], launch_count=1)["shared_bank_conflict_ways"] == 1
    """)
    options = ("-p", "ncuview.pytest_plugin", "--ncuview-report", "kept", "--ncuview-require-gpu")
    result = pytester.runpytest_subprocess(*options)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["E * assert <shared_bank_conflict_ways 16.5 ratio> == 1", "E * <column, grid 1024, *"])
    kept = sorted((pytester.path / "kept").glob("*.ncu-rep"))
    assert len(kept) == 2
    profile = api.read(*kept)
    assert len(KernelResult(profile, api.diagnose(profile)).kernel("column").launches) == 4


def test_a_function_is_profiled_in_a_test(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cloudpickle", reason="needs cloudpickle, the extra ncuview[notebook]")
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makepyfile("""
        def doubled():
            import numpy as np
            import pycuda.autoinit
            import pycuda.driver as cuda
            from pycuda.compiler import SourceModule
            code = "__global__ void doubled(float *x) { x[blockIdx.x * 256 + threadIdx.x] *= 2; }"
            x = cuda.to_device(np.ones(256 * 1024, np.float32))
            SourceModule(code).get_function("doubled")(x, grid=(1024, 1), block=(256, 1, 1))
            cuda.Context.synchronize()

        def test_doubled(ncuview):
            assert ncuview.profile(doubled)["gld_transactions_per_request"] == 4
    """)
    options = ("-p", "ncuview.pytest_plugin", "--ncuview-require-gpu")
    pytester.runpytest_subprocess(*options).assert_outcomes(passed=1)
