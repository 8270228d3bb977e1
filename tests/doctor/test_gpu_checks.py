"""Checks that read the output of nvidia-smi."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ncuview.doctor.competition import gpu_processes
from ncuview.doctor.gpu_state import clocks, ecc, mig, smi_log, virtualization, visible_devices
from ncuview.doctor.machine import Machine
from ncuview.doctor.surroundings import host_memory
from ncuview.doctor.verdict import NotKnown, Verdict
from tests.doctor.made import (
    CONFIDENTIAL,
    QUERY,
    SMI,
    gpu,
    machine,
    process,
    said,
    smi_says,
    with_gpus,
    without_gpus,
)

LINUX = {"/proc/version": "Linux version 6.8.0"}
MEMORY = {
    "files": {"/proc/meminfo": "MemTotal: 200000000 kB\nMemAvailable: 120000000 kB\n"},
    "absent": [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory.current",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
        "/sys/fs/cgroup/memory/memory.usage_in_bytes",
    ],
}


def seen(verdict: Verdict) -> str:
    return " | ".join(f"{each.where}: {each.what}" for each in verdict.evidence)


@pytest.mark.parametrize("check", [visible_devices, mig, clocks, ecc, gpu_processes, host_memory, virtualization])
def test_without_nvidia_smi_nothing_is_known_of_gpus(tmp_path: Path, check: Callable[[Machine], Verdict]) -> None:
    with pytest.raises(NotKnown, match="nvidia-smi is not on PATH"):
        check(without_gpus(tmp_path, absent=["/proc/version"]))


@pytest.mark.parametrize("check", [visible_devices, mig, clocks, ecc, gpu_processes, host_memory, virtualization])
def test_without_gpu_nothing_is_known_of_gpus(tmp_path: Path, check: Callable[[Machine], Verdict]) -> None:
    with pytest.raises(NotKnown, match="no GPU"):
        check(with_gpus(tmp_path, files=LINUX))


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (said("NVIDIA-SMI has failed because it couldn't communicate", 9), "exit code 9: NVIDIA-SMI has failed"),
        (said("GPU 0: NVIDIA H200"), "no XML"),
        (said(""), "no XML"),
        (PermissionError(13, "Permission denied"), "cannot be started: Permission denied"),
        (NotKnown("nvidia-smi did not end within 7 s"), "within 7 s"),
    ],
)
def test_an_nvidia_smi_that_fails_says_why(tmp_path: Path, answer: object, why: str) -> None:
    with pytest.raises(NotKnown, match=why):
        smi_log(with_gpus(tmp_path, answers={QUERY: answer}))


def test_entities_of_the_xml_are_not_resolved(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("CANARY")
    xml = f'<!DOCTYPE log [<!ENTITY file SYSTEM "file://{secret}">]><log><gpu><product_name>H&file;</product_name></gpu></log>'
    log = smi_log(with_gpus(tmp_path, answers={QUERY: said(xml)}))
    assert "CANARY" not in repr(log)


def test_what_nvidia_smi_does_not_say_is_empty(tmp_path: Path) -> None:
    bare = smi_log(with_gpus(tmp_path, "<gpu/>")).gpus[0]
    assert (bare.name, bare.mig, bare.memory_bytes, bare.throttle_reasons, bare.processes) == ("", "", None, (), ())
    assert (bare.uncorrectable_errors, bare.clock_setting_mhz, bare.temperature_c) == (None, None, None)


def test_every_gpu_is_visible_unless_a_variable_chooses(tmp_path: Path) -> None:
    verdict = visible_devices(with_gpus(tmp_path, gpu(), gpu()))
    assert verdict.status == "OK"
    assert "CUDA device 1 is GPU 1 (NVIDIA H200)" in seen(verdict)


@pytest.mark.parametrize(
    ("variable", "status", "mapped"),
    [
        ("1", "OK", "CUDA device 0 is GPU 1 (NVIDIA H200)"),
        ("1,0", "OK", "CUDA device 0 is GPU 1 (NVIDIA H200), CUDA device 1 is GPU 0"),
        ("GPU-2b", "OK", "CUDA device 0 is GPU 1"),
        ("MIG-77", "OK", "CUDA device 0 is GPU 1"),
        ("0,5,1", "WARN", "CUDA device 0 is GPU 0"),
        ("", "FAIL", "''"),
        ("-1", "FAIL", "'-1'"),
        ("GPU-3", "FAIL", "'GPU-3'"),
    ],
)
def test_the_variable_chooses_gpus(tmp_path: Path, variable: str, status: str, mapped: str) -> None:
    second = gpu(uuid="GPU-2b4", mig_mode="<current_mig>Enabled</current_mig>")
    verdict = visible_devices(with_gpus(tmp_path, gpu(), second, environment={"CUDA_VISIBLE_DEVICES": variable}))
    assert verdict.status == status
    assert mapped in seen(verdict)
    assert bool(verdict.fix) == (status != "OK")


@pytest.mark.parametrize(("order", "status"), [("", "WARN"), ("FASTEST_FIRST", "WARN"), ("PCI_BUS_ID", "OK")])
def test_gpus_that_differ_are_numbered_twice(tmp_path: Path, order: str, status: str) -> None:
    two = (gpu(), gpu(product_name="NVIDIA T400"))
    assert visible_devices(with_gpus(tmp_path, *two, environment={"CUDA_DEVICE_ORDER": order})).status == status


def test_instances(tmp_path: Path) -> None:
    assert mig(with_gpus(tmp_path / "undivided", gpu())).status == "OK"
    cut = mig(with_gpus(tmp_path, gpu(mig_mode="<current_mig>Enabled</current_mig>")))
    assert (cut.status, cut.fix) == ("WARN", "Profile with --clock-control none, or on a GPU without MIG.")


def test_a_gpu_that_is_not_visible_does_not_matter(tmp_path: Path) -> None:
    cut = gpu(mig_mode="<current_mig>Enabled</current_mig>")
    assert mig(with_gpus(tmp_path, gpu(), cut, environment={"CUDA_VISIBLE_DEVICES": "0"})).status == "OK"


@pytest.mark.parametrize(
    ("kernel", "mode", "confidential", "status", "words"),
    [
        ("Linux version 6.8.0", "None", "CC status: OFF\n", "OK", "directly"),
        ("Linux version 6.8.0", "Pass-Through", "", "OK", "directly"),
        ("Linux version 6.8.0", "VGPU", "", "WARN", "virtual GPU"),
        ("Linux version 6.8.0", "None", "CC status: ON\n", "WARN", "confidential"),
        ("Linux version 5.15.90.1-microsoft-standard-WSL2", "None", "", "WARN", "WSL"),
    ],
)
def test_what_stands_between_programs_and_the_gpu(
    tmp_path: Path, kernel: str, mode: str, confidential: str, status: str, words: str
) -> None:
    one = gpu(gpu_virtualization_mode=f"<virtualization_mode>{mode}</virtualization_mode>")
    files = {"/proc/version": kernel}
    verdict = virtualization(with_gpus(tmp_path, one, files=files, answers={CONFIDENTIAL: said(confidential)}))
    assert verdict.status == status
    assert words in verdict.message


@pytest.mark.parametrize("answer", [NotKnown("it hung"), OSError(2, "gone"), said("Unknown command", 2)])
def test_an_nvidia_smi_that_knows_no_confidential_computing(tmp_path: Path, answer: object) -> None:
    verdict = virtualization(with_gpus(tmp_path, gpu(), files=LINUX, answers={CONFIDENTIAL: answer}))
    assert verdict.status == "OK"
    assert "nvidia-smi conf-compute -f: no answer" in seen(verdict)


@pytest.mark.parametrize(
    ("elements", "status", "words"),
    [
        ({}, "OK", "not lowered"),
        (
            {
                "clocks_event_reasons": "<clocks_event_reason_sw_power_cap>Active</clocks_event_reason_sw_power_cap>",
            },
            "WARN",
            "(sw_power_cap)",
        ),
        (
            {
                "clocks_throttle_reasons": "<clocks_throttle_reason_hw_slowdown>Active"
                "</clocks_throttle_reason_hw_slowdown>",
            },
            "WARN",
            "(hw_slowdown)",
        ),
        ({"applications_clocks": "<graphics_clock>1200 MHz</graphics_clock>"}, "WARN", "set by a user"),
        ({"temperature": "<gpu_temp>80 C</gpu_temp>"}, "WARN", "hot"),
        ({"temperature": "<gpu_temp>79 C</gpu_temp>"}, "OK", "not lowered"),
        ({"temperature": "", "clocks": ""}, "OK", "not lowered"),
        ({"persistence_mode": "Disabled"}, "WARN", "unloads"),
        (
            {"applications_clocks": "<graphics_clock>Requested functionality has been deprecated</graphics_clock>"},
            "OK",
            "",
        ),
        ({"default_applications_clocks": "<graphics_clock>N/A</graphics_clock>"}, "OK", "not lowered"),
        ({"applications_clocks": "", "default_applications_clocks": ""}, "OK", "not lowered"),
    ],
)
def test_clocks(tmp_path: Path, elements: dict[str, str], status: str, words: str) -> None:
    verdict = clocks(with_gpus(tmp_path, gpu(**elements)))
    assert verdict.status == status
    assert words in verdict.message


@pytest.mark.parametrize(
    ("elements", "words"),
    [
        ({}, "345 MHz, clocks not set, 33 C, persistence Enabled"),
        (
            {"applications_clocks": "<graphics_clock>1200 MHz</graphics_clock>"},
            "345 MHz, clocks set to 1,200 MHz instead of 1,980 MHz, 33 C, persistence Enabled",
        ),
        ({"applications_clocks": ""}, "345 MHz, unknown whether clocks are set, 33 C, persistence Enabled"),
        ({"default_applications_clocks": ""}, "345 MHz, unknown whether clocks are set, 33 C, persistence Enabled"),
        ({"clocks": "", "temperature": "", "persistence_mode": ""}, "unknown clock, clocks not set, persistence N/A"),
    ],
)
def test_what_is_seen_of_clocks(tmp_path: Path, elements: dict[str, str], words: str) -> None:
    assert seen(clocks(with_gpus(tmp_path, gpu(**elements)))) == f"nvidia-smi -q -x: GPU 0 (NVIDIA H200): {words}"


NO_ECC = {
    "ecc_mode": "<current_ecc>N/A</current_ecc><pending_ecc>N/A</pending_ecc>",
    "ecc_errors": "<volatile><dram_uncorrectable>N/A</dram_uncorrectable></volatile>",
}


@pytest.mark.parametrize(
    ("elements", "status", "words", "counted"),
    [
        ({}, "OK", "ECC Enabled", "ECC Enabled, uncorrectable errors: 0"),
        (NO_ECC, "OK", "ECC N/A", "ECC N/A, uncorrectable errors: not counted"),
        ({"ecc_mode": "", "ecc_errors": ""}, "OK", "ECC N/A", "ECC N/A, uncorrectable errors: not counted"),
        (
            {**NO_ECC, "ecc_mode": "<current_ecc>Disabled</current_ecc><pending_ecc>Disabled</pending_ecc>"},
            "OK",
            "ECC Disabled",
            "ECC Disabled, uncorrectable errors: not counted",
        ),
        (
            {"ecc_errors": NO_ECC["ecc_errors"]},
            "UNKNOWN",
            "does not say how many uncorrectable errors",
            "ECC Enabled, uncorrectable errors: not counted",
        ),
        ({"ecc_mode": "<current_ecc>Enabled</current_ecc>"}, "OK", "ECC Enabled", "uncorrectable errors: 0"),
        (
            {"ecc_mode": "<current_ecc>N/A</current_ecc><pending_ecc>Enabled</pending_ecc>"},
            "OK",
            "ECC N/A",
            "uncorrectable errors: 0",
        ),
    ],
)
def test_errors_that_are_not_counted_are_unknown(
    tmp_path: Path, elements: dict[str, str], status: str, words: str, counted: str
) -> None:
    verdict = ecc(with_gpus(tmp_path, gpu(**elements)))
    assert (verdict.status, words in verdict.message) == (status, True)
    assert counted in seen(verdict)


def test_one_gpu_without_counters_does_not_hide_the_errors_of_another(tmp_path: Path) -> None:
    faulty = gpu(ecc_errors="<volatile><dram_uncorrectable>2</dram_uncorrectable></volatile>")
    verdict = ecc(with_gpus(tmp_path, gpu(ecc_errors=NO_ECC["ecc_errors"]), faulty))
    assert verdict.status == "WARN"
    assert "GPU 1 (NVIDIA H200): ECC Enabled, uncorrectable errors: 2" in seen(verdict)


@pytest.mark.parametrize(
    ("elements", "status", "words"),
    [
        ({}, "OK", "ECC Enabled"),
        ({"ecc_mode": "<current_ecc>N/A</current_ecc><pending_ecc>N/A</pending_ecc>"}, "OK", "ECC N/A"),
        ({"ecc_mode": "<current_ecc>Enabled</current_ecc><pending_ecc>Disabled</pending_ecc>"}, "WARN", "reboot"),
        ({"ecc_errors": "<volatile><dram_uncorrectable>2</dram_uncorrectable></volatile>"}, "WARN", "uncorrectable"),
    ],
)
def test_error_correction(tmp_path: Path, elements: dict[str, str], status: str, words: str) -> None:
    verdict = ecc(with_gpus(tmp_path, gpu(**elements)))
    assert verdict.status == status
    assert words in verdict.message


def test_programs_that_only_draw_are_no_matter(tmp_path: Path) -> None:
    assert gpu_processes(with_gpus(tmp_path, gpu(processes=process(kind="G")))).status == "OK"


@pytest.mark.parametrize(
    ("processes", "words"),
    [
        (process(), "another program computes"),
        (process() + process(8, "C+G"), "2 other programs compute"),
        (process(name=""), "another program computes"),
    ],
)
def test_programs_that_compute(tmp_path: Path, processes: str, words: str) -> None:
    verdict = gpu_processes(with_gpus(tmp_path, gpu(processes=processes)))
    assert verdict.status == "WARN"
    assert words in verdict.message
    assert "process 7" in seen(verdict)


def test_command_lines_of_other_programs_are_not_shown(tmp_path: Path) -> None:
    shown = seen(gpu_processes(with_gpus(tmp_path, gpu(processes=process()))))
    assert shown.endswith("process 7 train")


def test_memory_for_what_ncu_saves(tmp_path: Path) -> None:
    verdict = host_memory(with_gpus(tmp_path, gpu(), **MEMORY))
    assert verdict.status == "OK"
    assert "140.4 GiB device memory" in seen(verdict)
    assert "/proc/meminfo: 114.4 GiB available" in seen(verdict)


@pytest.mark.parametrize(
    ("limit", "taken"),
    [
        ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
    ],
)
def test_a_container_may_take_less_memory(tmp_path: Path, limit: str, taken: str) -> None:
    files = {**MEMORY["files"], limit: f"{8 << 30}\n", taken: f"{2 << 30}\n"}  # type: ignore[dict-item]
    verdict = host_memory(with_gpus(tmp_path, gpu(), files=files, absent=MEMORY["absent"]))
    assert verdict.status == "WARN"
    assert f"{limit}: 6.0 GiB available" in seen(verdict)


def test_a_container_without_limit(tmp_path: Path) -> None:
    files = {**MEMORY["files"], "/sys/fs/cgroup/memory.max": "max\n", "/sys/fs/cgroup/memory.current": "5\n"}  # type: ignore[dict-item]
    assert host_memory(with_gpus(tmp_path, gpu(), files=files, absent=MEMORY["absent"])).status == "OK"


def test_memory_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(NotKnown, match="the size of the GPU's memory"):
        host_memory(with_gpus(tmp_path, gpu(fb_memory_usage="<total>N/A</total>")))
    with pytest.raises(NotKnown, match="meminfo"):
        host_memory(with_gpus(tmp_path, gpu(), absent=["/proc/meminfo"]))


def test_path_is_searched_in_order(tmp_path: Path) -> None:
    files = {"/a/nvidia-smi": "", SMI: ""}
    made = machine(
        tmp_path,
        files=files,
        absent=["/none/nvidia-smi"],
        environment={"PATH": ":/none:/a/:/usr/bin"},
        answers={("/a/nvidia-smi", "-q", "-x"): smi_says(gpu())},
    )
    assert smi_log(made).cuda == "13.0"
    (tmp_path / "a/nvidia-smi").chmod(0o644)
    assert made.which("nvidia-smi") == SMI
