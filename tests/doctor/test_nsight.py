"""ncu, the reader of reports and the driver: found, started, and compatible."""

from __future__ import annotations

import ctypes
import json
import runpy
import sys
from pathlib import Path

import pytest

from ncuview.doctor import driver_probe
from ncuview.doctor.commands import Answer, Commands
from ncuview.doctor.driver import PROBE, cuda_driver, driver_of, stub_library
from ncuview.doctor.nsight import (
    READER,
    disassemblers,
    driver_fits,
    gpu_supported,
    ncu_report,
    nsight_compute,
    other_installations,
    version_of,
)
from ncuview.doctor.verdict import NotKnown
from tests.doctor.made import (
    CHIPS,
    NCU,
    QUERY,
    SMI,
    VERSION,
    driver_says,
    gpu,
    machine,
    ncu_says,
    reader_says,
    said,
    smi_says,
)

REFUSED = PermissionError(13, "Permission denied")
KNOWN = said("Chips: ga100, ga102, ga10b, gh100, gb100, tu102\n")
INSTALLATIONS = ["/opt/nvidia/nsight-compute", "/usr/local"]


@pytest.mark.parametrize(
    ("answer", "status", "words"),
    [
        (ncu_says("2025.3.1"), "OK", "ncu 2025.3.1"),
        (ncu_says("2022.3.0"), "OK", "ncu 2022.3.0"),
        (ncu_says("2022.2.1"), "FAIL", "too old"),
        (said("hello", 1), "FAIL", "does not name its version"),
        (REFUSED, "FAIL", "cannot be started"),
    ],
)
def test_ncu(tmp_path: Path, answer: object, status: str, words: str) -> None:
    verdict = nsight_compute(machine(tmp_path, answers={VERSION: answer}))  # type: ignore[dict-item]
    assert verdict.status == status
    assert words in verdict.message
    assert bool(verdict.fix) == (status == "FAIL")


def test_no_ncu(tmp_path: Path) -> None:
    bare = machine(tmp_path, ncu=None, absent=[*INSTALLATIONS, SMI])
    assert nsight_compute(bare).status == "FAIL"
    for check in (other_installations, driver_fits):
        with pytest.raises(NotKnown, match="ncu is missing"):
            check(bare)


def test_an_ncu_that_hangs(tmp_path: Path) -> None:
    with pytest.raises(NotKnown, match="did not end"):
        nsight_compute(machine(tmp_path, answers={VERSION: NotKnown("ncu did not end within 7 s")}))


def test_one_installation(tmp_path: Path) -> None:
    made = machine(tmp_path, files={NCU: ""}, absent=["/usr/local"], answers={VERSION: ncu_says("2025.3.1")})
    assert other_installations(made).message == "one ncu is installed"


def test_a_newer_installation_is_named(tmp_path: Path) -> None:
    newer = "/opt/nvidia/nsight-compute/2026.1.0/ncu"
    made = machine(tmp_path, files={NCU: "", newer: ""}, absent=["/usr/local"], answers={VERSION: ncu_says("2025.3.1")})
    verdict = other_installations(made)
    assert verdict.status == "WARN"
    assert "export PATH=/opt/nvidia/nsight-compute/2026.1.0:$PATH" in verdict.fix
    (tmp_path / newer.lstrip("/")).chmod(0o644)
    assert other_installations(made).status == "OK"


def test_an_older_installation_is_no_matter(tmp_path: Path) -> None:
    files = {NCU: "", "/usr/local/cuda-12.4/bin/ncu": ""}
    verdict = other_installations(machine(tmp_path, files=files, answers={VERSION: ncu_says("2025.3.1")}))
    assert verdict.message == "the newest of 2 installed ncu is used"
    assert [each.what for each in verdict.evidence] == ["2025.3.1", "installed"]


@pytest.mark.parametrize(("answer", "why"), [(said("hello"), "version"), (REFUSED, "Permission denied")])
def test_installations_are_compared_with_a_known_version(tmp_path: Path, answer: object, why: str) -> None:
    made = machine(tmp_path, absent=INSTALLATIONS, answers={VERSION: answer})  # type: ignore[dict-item]
    with pytest.raises(NotKnown, match=why):
        other_installations(made)


@pytest.mark.parametrize(
    ("reader", "ncu", "status"),
    [
        ("2026.3.1", "2025.3.1", "OK"),
        ("2025.3.0", "2025.3.1", "OK"),
        ("2026.2.0", "2026.3.0", "WARN"),
        ("2025.10.0", "2025.9.0", "OK"),
    ],
)
def test_reader(tmp_path: Path, reader: str, ncu: str, status: str) -> None:
    answers = {**reader_says(reader), VERSION: ncu_says(ncu)}
    verdict = ncu_report(machine(tmp_path, answers=answers))
    assert verdict.status == status
    assert bool(verdict.fix) == (status == "WARN")


def test_reader_without_ncu(tmp_path: Path) -> None:
    assert ncu_report(machine(tmp_path, ncu=None, answers=reader_says("2026.3.1"))).status == "OK"


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (said("", 1, "ModuleNotFoundError: No module named 'ncu_report'"), "an error"),
        (said("", -11), "signal 11"),
        (said("no version"), "an error"),
    ],
)
def test_a_reader_that_does_not_load(tmp_path: Path, answer: object, words: str) -> None:
    verdict = ncu_report(machine(tmp_path, answers={READER: answer}))  # type: ignore[dict-item]
    assert verdict.status == "FAIL"
    assert words in verdict.message


def test_a_reader_that_cannot_be_tried(tmp_path: Path) -> None:
    with pytest.raises(NotKnown, match="Permission denied"):
        ncu_report(machine(tmp_path, answers={READER: REFUSED}))


def test_the_reader_loads_here() -> None:
    assert version_of(Commands({"PATH": ""})(*READER).stdout) >= (2025,)


@pytest.mark.parametrize(
    ("ncu", "cuda", "status"),
    [
        ("2025.3.1", "13.0", "OK"),
        ("2026.3.1", "13.0", "OK"),
        ("2025.2.1", "12.2", "OK"),
        ("2025.3.0", "12.9", "WARN"),
        ("2022.4.0", "11.8", "WARN"),
        ("2022.3.0", "11.8", "OK"),
        ("2019.5.0", "13.0", "UNKNOWN"),
        ("2025.3.1", "N/A", "UNKNOWN"),
    ],
)
def test_driver_and_ncu(tmp_path: Path, ncu: str, cuda: str, status: str) -> None:
    answers = {VERSION: ncu_says(ncu), QUERY: smi_says(gpu(), cuda=cuda)}
    assert driver_fits(machine(tmp_path, files={SMI: ""}, answers=answers)).status == status


def test_the_driver_says_what_it_serves_where_nvidia_smi_is_missing(tmp_path: Path) -> None:
    answers = {VERSION: ncu_says("2025.3.1"), **driver_says(driver=12090)}
    verdict = driver_fits(machine(tmp_path, absent=[SMI], answers=answers))
    assert verdict.status == "WARN"
    assert "CUDA 12.9" in verdict.message


def test_driver(tmp_path: Path) -> None:
    verdict = cuda_driver(machine(tmp_path, answers=driver_says()))
    assert (verdict.status, verdict.message) == ("OK", "the CUDA driver starts and supports CUDA 13.0")


def test_no_driver(tmp_path: Path) -> None:
    made = machine(tmp_path, absent=[SMI], answers={**driver_says(error="cannot open"), VERSION: ncu_says("2025.3.1")})
    assert cuda_driver(made).status == "FAIL"
    with pytest.raises(NotKnown, match="does not start"):
        gpu_supported(made)


@pytest.mark.parametrize(
    ("code", "fix"), [(34, "stubs"), (100, "--gpus all"), (802, "fabric"), (803, "reboot"), (999, "dmesg")]
)
def test_a_driver_that_does_not_start(tmp_path: Path, code: int, fix: str) -> None:
    verdict = cuda_driver(machine(tmp_path, answers=driver_says(init=code, init_name="CUDA_ERROR_X", library="")))
    assert verdict.status == "FAIL"
    assert f"({code} CUDA_ERROR_X)" in verdict.message
    assert fix in verdict.fix


def test_a_driver_that_crashes(tmp_path: Path) -> None:
    assert "signal 11" in cuda_driver(machine(tmp_path, answers={PROBE: said("", -11)})).message


@pytest.mark.parametrize("answer", [said("", 1, "Traceback"), said("hello"), said("[1]"), REFUSED])
def test_a_driver_that_says_nothing(tmp_path: Path, answer: object) -> None:
    with pytest.raises(NotKnown, match="child process"):
        cuda_driver(machine(tmp_path, answers={PROBE: answer}))  # type: ignore[dict-item]


def test_stubs(tmp_path: Path) -> None:
    assert stub_library(machine(tmp_path, answers=driver_says())).status == "OK"
    loaded = driver_says(library="/usr/local/cuda/lib64/stubs/libcuda.so")
    assert stub_library(machine(tmp_path, answers=loaded)).status == "FAIL"


@pytest.mark.parametrize("has_it", [True, False])
def test_stubs_on_the_path(tmp_path: Path, has_it: bool) -> None:
    library = "/cuda/stubs/libcuda.so.1"
    path = {"LD_LIBRARY_PATH": "/lib:/cuda/stubs:"}
    files = {library: ""} if has_it else {}
    verdict = stub_library(machine(tmp_path, files=files, absent=[library], environment=path))
    assert verdict.status == ("FAIL" if has_it else "WARN")
    assert [each.what for each in verdict.evidence] == ["/cuda/stubs"]


@pytest.mark.parametrize(
    ("capabilities", "chips", "status", "words"),
    [
        (["9.0"], KNOWN, "OK", "supports NVIDIA X"),
        (["9.0", "9.0"], KNOWN, "OK", "supports 2 x NVIDIA X"),
        (["12.0"], KNOWN, "FAIL", "does not support GPUs of compute capability 12.0"),
        (["7.0", "9.0"], KNOWN, "FAIL", "does not support GPUs of compute capability 7.0"),
        (["6.1"], KNOWN, "FAIL", "does not profile GPUs of compute capability 6.1"),
        (["15.0"], KNOWN, "UNKNOWN", "which chip has compute capability 15.0"),
        ([], KNOWN, "FAIL", "no GPU is visible"),
    ],
)
def test_supported_gpus(tmp_path: Path, capabilities: list[str], chips: object, status: str, words: str) -> None:
    devices = [{"name": "NVIDIA X", "compute_capability": each} for each in capabilities]
    answers = {**driver_says(devices=devices), CHIPS: chips, QUERY: smi_says(gpu())}
    verdict = gpu_supported(machine(tmp_path, files={SMI: ""}, answers=answers))  # type: ignore[arg-type]
    assert verdict.status == status
    assert words in verdict.message
    assert any(each.what == "NVIDIA H200" for each in verdict.evidence)


@pytest.mark.parametrize("chips", [said("", 1), said("nothing here"), REFUSED])
def test_an_ncu_that_lists_no_chips(tmp_path: Path, chips: object) -> None:
    answers = {**driver_says(), CHIPS: chips}
    with pytest.raises(NotKnown, match="ncu"):
        gpu_supported(machine(tmp_path, absent=[SMI], answers=answers))  # type: ignore[arg-type]


class FakeCuda:
    """libcuda with two GPUs, or one that does not start."""

    def __init__(self, init: int = 0) -> None:
        self.init = init

    def cuInit(self, flags: int) -> int:  # noqa: N802
        assert flags == 0
        return self.init

    def cuGetErrorName(self, error: int, name: object) -> int:  # noqa: N802
        assert error == self.init
        name._obj.value = b"CUDA_ERROR_X"  # type: ignore[attr-defined]
        return 0

    def cuDriverGetVersion(self, version: object) -> int:  # noqa: N802
        version._obj.value = 13010  # type: ignore[attr-defined]
        return 0

    def cuDeviceGetCount(self, count: object) -> int:  # noqa: N802
        assert self.init == 0
        count._obj.value = 2  # type: ignore[attr-defined]
        return 0

    def cuDeviceGet(self, device: object, place: int) -> int:  # noqa: N802
        device._obj.value = 70 + place  # type: ignore[attr-defined]
        return 0

    def cuDeviceGetName(self, name: ctypes.Array[ctypes.c_char], size: int, device: int) -> int:  # noqa: N802
        name.value = f"GPU of {device}".encode()[: size - 1]
        return 0

    def cuDeviceGetAttribute(self, value: object, attribute: int, device: int) -> int:  # noqa: N802
        value._obj.value = {75: 9, 76: device - 70}[attribute]  # type: ignore[attr-defined]
        return 0


def test_the_probe_asks_the_driver() -> None:
    assert driver_probe.describe(FakeCuda()) == {
        "init": 0,
        "init_name": "CUDA_ERROR_X",
        "driver": 13010,
        "devices": [
            {"name": "GPU of 70", "compute_capability": "9.0"},
            {"name": "GPU of 71", "compute_capability": "9.1"},
        ],
    }


def test_the_probe_asks_nothing_of_a_driver_that_does_not_start() -> None:
    assert driver_probe.describe(FakeCuda(803)) == {"init": 803, "init_name": "CUDA_ERROR_X", "driver": 13010}


def test_a_number_that_the_driver_refuses_is_none() -> None:
    assert driver_probe._number(lambda _: 3) is None


def test_the_library_that_was_loaded() -> None:
    maps = "7f00-7f01 r--p 00000000 fe:00 11    /usr/lib/libc.so.6\n7f02-7f03 r-xp 0 0:0 0 /usr/lib/libcuda.so.580.1\n"
    assert driver_probe.loaded_from(maps) == "/usr/lib/libcuda.so.580.1"
    assert driver_probe.loaded_from("") == ""


def test_the_probe_without_a_driver(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def refuse(name: str) -> None:
        raise OSError(f"{name}: cannot open")

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    driver_probe.main()
    assert json.loads(capsys.readouterr().out) == {"error": "libcuda.so.1: cannot open"}


def test_the_probe_with_a_driver(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: {"libcuda.so.1": FakeCuda(803)}[name])
    driver_probe.main()
    assert json.loads(capsys.readouterr().out)["init"] == 803


def test_the_probe_is_a_program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda _: FakeCuda())
    runpy.run_path(driver_probe.__file__, run_name="__main__")
    assert len(json.loads(capsys.readouterr().out)["devices"]) == 2


def test_the_child_process_answers_here(tmp_path: Path) -> None:
    answer = Commands({"PATH": ""})(*PROBE)
    assert answer.status == 0
    driver_of(machine(tmp_path, answers={PROBE: answer}))
    assert PROBE[0] == sys.executable


def test_both_disassemblers_are_named_with_their_releases(tmp_path: Path) -> None:
    paths = {name: Path("/cuda/bin") / name for name in ("cuobjdump", "nvdisasm")}
    answers: dict[tuple[str, ...], Answer | Exception] = {
        (str(path), "--version"): said(f"{name}: NVIDIA\nCuda compilation tools, release 13.0, V13.0.85\n")
        for name, path in paths.items()
    }
    verdict = disassemblers(machine(tmp_path, answers=answers, disassemblers=paths))
    assert (verdict.status, verdict.message) == ("OK", "cuobjdump 13.0.85, nvdisasm 13.0.85")


def test_a_missing_disassembler_is_a_warning_that_names_what_cannot_be_shown(tmp_path: Path) -> None:
    verdict = disassemblers(machine(tmp_path))
    assert verdict.status == "WARN"
    assert verdict.message == "cuobjdump and nvdisasm are missing: analyze --no-counters shows no machine code"
    assert "nvidia-cuda-cuobjdump" in verdict.fix
