from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import CompilerNotFound, GpuNotFound, LauncherNotFound, NcuNotFound, NcuRefused, ToolError
from ncuview.profiling import machine
from ncuview.profiling.machine import (
    GpuState,
    compute_capability,
    find_ncu,
    find_nvcc,
    gpu_state,
    missing_for_live,
    missing_for_ncu,
    ncu_version,
)
from ncuview.profiling.nvidia_smi import read_log

SMI = """\
<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v13.dtd">
<nvidia_smi_log>
  <driver_version>580.65.06</driver_version>
  <cuda_version>13.0</cuda_version>
  {gpus}
</nvidia_smi_log>
"""

GPU = """\
<gpu id="00000000:00:06.0">
  <product_name>{name}</product_name>
  <mig_mode><current_mig>{mig}</current_mig><pending_mig>Disabled</pending_mig></mig_mode>
  <uuid>{uuid}</uuid>
  <{reason}s>
    <{reason}_gpu_idle>Active</{reason}_gpu_idle>
    <{reason}_sw_power_cap>Active</{reason}_sw_power_cap>
    <{reason}_hw_slowdown>Not Active</{reason}_hw_slowdown>
  </{reason}s>
  <temperature><gpu_temp>{temperature}</gpu_temp></temperature>
  <clocks><graphics_clock>300 MHz</graphics_clock><sm_clock>345 MHz</sm_clock></clocks>
  <max_clocks><sm_clock>1980 MHz</sm_clock></max_clocks>
</gpu>
"""


def gpu(
    name: str = "NVIDIA H200",
    mig: str = "Disabled",
    uuid: str = "GPU-0a",
    temperature: str = "33 C",
    reason: str = "clocks_event_reason",
) -> str:
    return GPU.format(name=name, mig=mig, uuid=uuid, temperature=temperature, reason=reason)


class Machine:
    """A machine that has nothing but what a test puts on it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.root = root
        monkeypatch.setenv("PATH", str(root / "path"))
        monkeypatch.delenv("CUDA_HOME", raising=False)
        monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
        monkeypatch.setattr(machine, "_NSIGHT_COMPUTE", root / "nsight-compute")
        monkeypatch.setattr(machine, "_CUDA", root / "cuda")

    def install(self, program: str, script: str = "") -> Path:
        path = self.root / program
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
        return path

    def answer_nvidia_smi(self, *gpus: str) -> None:
        self.answer_xml(SMI.format(gpus="".join(gpus)))

    def answer_xml(self, xml: str) -> None:
        (self.root / "smi.xml").write_text(xml)
        self.install("path/nvidia-smi", f"[ \"$*\" = '-q -x' ] || exit 99\nexec /bin/cat '{self.root}/smi.xml'")


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_a_bare_machine_has_no_tools(bare: Machine) -> None:
    assert find_ncu() is None
    assert find_nvcc() is None
    assert gpu_state() is None


def test_ncu_on_path_comes_first(bare: Machine) -> None:
    bare.install("nsight-compute/2025.3.1/ncu")
    on_path = bare.install("path/ncu")
    assert find_ncu() == on_path


def test_the_newest_installed_ncu_comes_next(bare: Machine) -> None:
    bare.install("cuda/bin/ncu")
    bare.install("nsight-compute/2025.3.1/ncu")
    newest = bare.install("nsight-compute/2025.10.0/ncu")
    (bare.root / "nsight-compute/2026.1.0").mkdir()
    bare.install("nsight-compute/2026.2.0/ncu").chmod(0o644)
    assert find_ncu() == newest


def test_the_toolkit_of_cuda_home_comes_before_the_default_one(bare: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    default = {"ncu": bare.install("cuda/bin/ncu"), "nvcc": bare.install("cuda/bin/nvcc")}
    assert (find_ncu(), find_nvcc()) == (default["ncu"], default["nvcc"])
    monkeypatch.setenv("CUDA_HOME", str(bare.root / "mine"))
    assert (find_ncu(), find_nvcc()) == (default["ncu"], default["nvcc"])
    mine = {"ncu": bare.install("mine/bin/ncu"), "nvcc": bare.install("mine/bin/nvcc")}
    assert (find_ncu(), find_nvcc()) == (mine["ncu"], mine["nvcc"])


def test_a_relative_path_entry_gives_an_absolute_program(bare: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    bare.install("path/nvcc")
    monkeypatch.chdir(bare.root)
    monkeypatch.setenv("PATH", "path")
    assert find_nvcc() == bare.root / "path/nvcc"


def test_ncu_version(bare: Machine) -> None:
    ncu = bare.install(
        "path/ncu",
        "echo 'NVIDIA (R) Nsight Compute Command Line Profiler'\n"
        "echo 'Version 2025.3.1.0 (build 36398880) (public-release)'",
    )
    assert ncu_version(ncu) == "2025.3.1"


@pytest.mark.parametrize("script", ["exit 1", "echo hello", "printf '\\377'"])
def test_an_ncu_without_a_version_is_refused(bare: Machine, script: str) -> None:
    with pytest.raises(NcuRefused, match="does not name its version") as refused:
        ncu_version(bare.install("path/ncu", script))
    assert refused.value.hint


def test_an_ncu_that_does_not_start_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NcuRefused):
        ncu_version(tmp_path / "ncu")


def test_gpu_state(bare: Machine) -> None:
    bare.answer_nvidia_smi(gpu())
    assert gpu_state() == GpuState(
        name="NVIDIA H200",
        driver_version="580.65.06",
        cuda_version="13.0",
        sm_clock_mhz=345,
        max_sm_clock_mhz=1980,
        temperature_c=33,
        throttle_reasons=("sw_power_cap",),
        mig=False,
    )


def test_older_drivers_name_the_throttle_reasons_otherwise(bare: Machine) -> None:
    bare.answer_nvidia_smi(gpu(reason="clocks_throttle_reason"))
    state = gpu_state()
    assert state is not None
    assert state.throttle_reasons == ("sw_power_cap",)


def test_what_nvidia_smi_does_not_know_is_none(bare: Machine) -> None:
    bare.answer_nvidia_smi(gpu(temperature="N/A"), "<fan/>")
    state = gpu_state()
    assert state is not None
    assert state.temperature_c is None


@pytest.mark.parametrize(
    ("visible", "name"),
    [
        (None, "first"),
        ("0", "first"),
        ("1,0", "second"),
        (" GPU-2b", "second"),
        ("GPU-2b4", "second"),
        ("MIG-77", "second"),
        ("", None),
        ("-1", None),
        ("2", None),
        ("GPU-3", None),
    ],
)
def test_the_gpu_is_the_one_that_cuda_would_use(
    bare: Machine, monkeypatch: pytest.MonkeyPatch, visible: str | None, name: str | None
) -> None:
    bare.answer_nvidia_smi(gpu(name="first", uuid="GPU-1a3"), gpu(name="second", uuid="GPU-2b4", mig="Enabled"))
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    state = gpu_state()
    assert (state and state.name) == name
    assert state is None or state.mig == (name == "second")


@pytest.mark.parametrize(
    "script",
    ["echo 'NVIDIA-SMI has failed'; exit 9", "echo 'No devices were found'", "exit 0", "echo '<nvidia_smi_log/>'"],
)
def test_no_gpu_answers(bare: Machine, script: str) -> None:
    bare.install("path/nvidia-smi", script)
    assert gpu_state() is None


def test_an_nvidia_smi_that_hangs_says_nothing(bare: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_NVIDIA_SMI_TIMEOUT_S", 0.2)
    bare.install("path/nvidia-smi", "while :; do :; done")
    assert gpu_state() is None
    assert compute_capability() == ""


@pytest.mark.parametrize("visible", [None, "0", "1,0", "GPU-2b", "MIG-77", "", "7"])
def test_the_capability_is_that_of_the_gpu_that_cuda_would_use(
    bare: Machine, monkeypatch: pytest.MonkeyPatch, visible: str | None
) -> None:
    bare.answer_nvidia_smi(gpu(uuid="GPU-1a3"), gpu(uuid="GPU-2b4", mig="Enabled"))
    bare.install(
        "path/nvidia-smi",
        f"""case "$*" in
            '-q -x') exec /bin/cat '{bare.root}/smi.xml' ;;
            '--query-gpu=compute_cap --format=csv,noheader --id=GPU-1a3') echo 9.0 ;;
            '--query-gpu=compute_cap --format=csv,noheader --id=GPU-2b4') echo ' 12.0 ' ;;
            *) exit 99 ;;
        esac""",
    )
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    expected = {None: "9.0", "0": "9.0", "1,0": "12.0", "GPU-2b": "12.0", "MIG-77": "12.0", "": "", "7": ""}
    assert compute_capability() == expected[visible]


@pytest.mark.parametrize(
    "answer", ["echo 'Field \"compute_cap\" is not valid'", "exit 2", "echo '[N/A]'", "echo 9.0; exit 6"]
)
def test_an_nvidia_smi_that_knows_no_capability_says_none(bare: Machine, answer: str) -> None:
    bare.answer_nvidia_smi(gpu())
    bare.install("path/nvidia-smi", f"[ $# = 2 ] && exec /bin/cat '{bare.root}/smi.xml'\n{answer}")
    assert gpu_state() is not None
    assert compute_capability() == ""


def test_a_machine_without_gpu_has_no_capability(bare: Machine) -> None:
    assert compute_capability() == ""
    bare.answer_nvidia_smi()
    assert compute_capability() == ""


@given(st.binary(max_size=40))
def test_what_is_no_log_is_none_or_lists_no_gpu(rubbish: bytes) -> None:
    log = read_log(rubbish)
    assert log is None or log.gpus == ()


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"], exclude_characters="<>&"), max_size=12))
def test_a_number_is_the_one_that_the_text_begins_with_or_none(text: str) -> None:
    counter = f"<ecc_errors><volatile><dram_uncorrectable>{text}</dram_uncorrectable></volatile></ecc_errors>"
    log = read_log(SMI.format(gpus=gpu(temperature=text).replace("</gpu>", f"{counter}</gpu>")).encode())
    assert log is not None
    (read,) = log.gpus
    assert (read.temperature_c is None) == (not text.removeprefix("-")[:1].isdecimal())
    assert read.uncorrectable_errors == (int(text) if text.isdecimal() else None)


def test_xml_cannot_read_files(bare: Machine) -> None:
    (bare.root / "secret").write_text("secret")
    xml = SMI.format(gpus=gpu(name="&file;")).replace(
        'SYSTEM "nvsmi_device_v13.dtd"', f'[<!ENTITY file SYSTEM "file://{bare.root}/secret">]'
    )
    bare.answer_xml(xml)
    state = gpu_state()
    assert state is not None
    assert state.name == ""


def test_what_is_missing_is_named_one_after_the_other(bare: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    packages: set[str] = set()
    monkeypatch.setattr(machine, "find_spec", lambda name: name if name in packages else None)
    supplies: list[tuple[type[ToolError], Callable[[], object]]] = [
        (GpuNotFound, lambda: bare.answer_nvidia_smi(gpu())),
        (NcuNotFound, lambda: bare.install("path/ncu")),
        (CompilerNotFound, lambda: bare.install("path/nvcc")),
        (LauncherNotFound, lambda: packages.add("pycuda")),
    ]
    for error, supply in supplies:
        missing = missing_for_live()
        assert type(missing) is error
        assert missing.hint
        assert type(missing_for_ncu()) is (error if error in {GpuNotFound, NcuNotFound} else type(None))
        supply()
    assert missing_for_live() is None
    assert missing_for_ncu() is None
