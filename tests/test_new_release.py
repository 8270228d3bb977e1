"""What a new ncu changes, from two folders of saved outputs written by hand."""

from pathlib import Path

from tools.new_release import changes

OLD = {
    "version.txt": "NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2025.3.1.0 (build 1)\n",
    "metrics.txt": "Device NVIDIA H200 (GH100)\n---\ndram__bytes_read  Counter  byte  bytes\nsm__other  Counter\n",
    "sections.txt": "---------- ----------\nIdentifier Display Name\nOccupancy  Occupancy\nSourceCounters  Source\n",
    "help.txt": "  -k [ --kernel-name ] arg  Filter.\n  --cache-control arg (=all)  Caches.\n  --gone-elsewhere\n",
    "passes.txt": '==PROF== Profiling "saxpy" - 0: 0%....50%....100% - 6 passes\n',
}
NEW = {
    "version.txt": "NVIDIA (R) Nsight Compute Command Line Profiler\nVersion 2026.1.0.0 (build 2)\n",
    "metrics.txt": "Device NVIDIA H200 (GH100)\n---\ndram__bytes_write  Counter  byte  bytes\n",
    "sections.txt": "---------- ----------\nIdentifier Display Name\nOccupancy  Occupancy\n",
    "help.txt": "  -k [ --kernel-name ] arg  Filter.\n",
    "passes.txt": '==PROF== Profiling "saxpy" - 0: 0%....50%....100% - 8 passes\n',
    "failures/NCU-PERM.txt": "==PROF== Connected\n==ERROR== ERR_NVGPUCTRPERM - The user has no permission\n",
    "failures/NCU-PERM.2.txt": "==PROF== Connected\n==ERROR== No access to performance counters\n",
}


def _folder(folder: Path, outputs: dict[str, str]) -> Path:
    (folder / "failures").mkdir(parents=True)
    for name, text in outputs.items():
        (folder / name).write_text(text, "utf-8")
    return folder


def test_changes_are_named(tmp_path: Path) -> None:
    assert list(changes(_folder(tmp_path / "old", OLD), _folder(tmp_path / "new", NEW))) == [
        "ncu: 2025.3.1.0 -> 2026.1.0.0",
        "metric of the plan gone: dram__bytes_read",
        "metric of the plan new: dram__bytes_write",
        "section gone: SourceCounters",
        "option gone: cache-control",
        "passes of saxpy: 6 -> 8",
        "text of failure NCU-PERM unknown: NCU-PERM.2.txt is NCU-UNKNOWN",
    ]


def test_the_same_outputs_are_no_change(tmp_path: Path) -> None:
    assert not list(changes(_folder(tmp_path / "old", OLD), _folder(tmp_path / "new", OLD)))
