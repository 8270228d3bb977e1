"""Commands that profile, on machines that cannot, and the calibration that recorded reports allow everywhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.command_line import BARE, CALIBRATION, DIVERGENCE, RECORDED, assert_failed, install, ncuview


@pytest.mark.parametrize(
    ("programs", "says"),
    [
        ((), ["NVIDIA GPU", "nvidia-smi", "recorded profiles need no GPU"]),
        (("nvidia-smi",), ["Nsight Compute", "Install Nsight Compute"]),
        (("nvidia-smi", "ncu"), ["nvcc", "CUDA_HOME"]),
        (("nvidia-smi", "ncu", "nvcc"), ["PyCUDA", "pip install 'ncuview[gpu]'"]),
    ],
    ids=["no GPU", "no ncu", "no nvcc", "no PyCUDA"],
)
@pytest.mark.parametrize(
    "command",
    [("analyze", "transposeNaive", "--live"), ("ladder", "divergence", "--live"), ("calibrate",)],
    ids=lambda args: args[0],
)
def test_live_without_what_it_needs_leaves_with_5_and_says_what_to_install(
    tmp_path: Path, command: tuple[str, ...], programs: tuple[str, ...], says: list[str]
) -> None:
    path = install(tmp_path, *programs)
    assert_failed(ncuview(*command, before=BARE, path=path, XDG_CONFIG_HOME=str(tmp_path)), 5, *says)


def test_without_live_the_recorded_profile_says_what_is_missing(tmp_path: Path) -> None:
    path = install(tmp_path, "nvidia-smi", "ncu", "nvcc")
    ended = ncuview("analyze", "divergentWithinWarp", "--format", "json", before=BARE, path=path)
    assert ended.code == 0
    assert "PyCUDA" in ended.document["remark"]
    assert ended.document["launches"][0]["source"] == "recorded"


# The user's own table


def test_a_calibration_is_printed_saved_and_used(tmp_path: Path) -> None:
    table = tmp_path / "ncuview" / "attainable.toml"
    before = ncuview("analyze", "transposeCoalesced", "--recorded", XDG_CONFIG_HOME=str(tmp_path))
    ended = ncuview("calibrate", "--from", CALIBRATION, "--from", RECORDED, XDG_CONFIG_HOME=str(tmp_path))
    assert ended.code == 0
    assert ended.out.startswith("NVIDIA H200, measured 2026-11-21, ncu 2025.3.1\n")
    assert re.search(r"^l1_data +0\.881 +0\.996 +1\.000 +sharedWavefronts$", ended.out, re.MULTILINE)
    assert re.search(r"^tex .* not measured: no kernel of the catalogue saturates it$", ended.out, re.MULTILINE)
    assert re.search(r"^launch_ns +1664 +emptyKernel$", ended.out, re.MULTILINE)
    assert ended.err == f"{table}: written, for NVIDIA H200\n"
    assert 'NVIDIA H200"]' in table.read_text(encoding="utf-8")
    after = ncuview("analyze", "transposeCoalesced", "--recorded", XDG_CONFIG_HOME=str(tmp_path))
    assert (before.code, after.code) == (0, 0)
    assert before.out != after.out


def test_a_calibration_can_be_written_elsewhere(tmp_path: Path) -> None:
    table = tmp_path / "mine.toml"
    ended = ncuview("calibrate", "--from", CALIBRATION, "--output", table, XDG_CONFIG_HOME=str(tmp_path))
    assert ended.code == 0
    assert list(tmp_path.iterdir()) == [table]


def test_a_table_that_cannot_be_used_leaves_with_2_wherever_it_counts(tmp_path: Path) -> None:
    table = tmp_path / "ncuview" / "attainable.toml"
    table.parent.mkdir()
    table.write_text("[GPU]\ndram = { low = 0.5, best = 7.0, high = 1.0 }\n", encoding="utf-8")
    for command in (["analyze", "divergentWithinWarp", "--recorded"], ["calibrate", "--from", CALIBRATION]):
        ended = ncuview(*command, XDG_CONFIG_HOME=str(tmp_path))
        assert_failed(ended, 2, str(table), "GPU.dram.best", "ncuview calibrate")
    assert ncuview("kernels", XDG_CONFIG_HOME=str(tmp_path)).code == 0


def test_a_table_that_cannot_be_written_leaves_with_2() -> None:
    ended = ncuview("calibrate", "--from", CALIBRATION, XDG_CONFIG_HOME="/dev/null")
    assert_failed(ended, 2, "/dev/null/ncuview/attainable.toml cannot be written", "--output")


def test_a_report_that_shows_nothing_of_what_is_attainable_leaves_with_3(tmp_path: Path) -> None:
    table = tmp_path / "mine.toml"
    assert_failed(ncuview("calibrate", "--from", DIVERGENCE, "--output", table), 3, "NVIDIA H200", "dramRead")
    assert_failed(ncuview("calibrate", "--from", tmp_path / "none.ncu-rep", "--output", table), 3, "none.ncu-rep")
    assert not table.exists()
