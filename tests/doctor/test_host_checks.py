"""Checks of permissions, containers, processes, folders and variables."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ncuview.doctor.competition import profilers
from ncuview.doctor.lock import lock_file, protected_files
from ncuview.doctor.machine import Machine, Owned
from ncuview.doctor.permission import administrator, container, counter_permission
from ncuview.doctor.surroundings import folders, injections
from ncuview.doctor.verdict import NotKnown
from ncuview.profiling.ncu_failures import failure
from tests.doctor.made import PARAMETERS, PID, STATUS, USERS, FakeMachine, machine

CAPABLE = "Name: x\nCapEff:\t000001fffeffffff\n"
PLAIN = "Name: x\nCapEff:\t0000000000000000\n"
HOST_NAMESPACE = "         0          0 4294967295\n"
NAMESPACE = "         0       1000          1\n"
ONLY_ADMINISTRATORS = "ResmanDebugLevel: 4294967295\nRmProfilingAdminOnly: 1\n"
OLDER_WORDS = "RestrictProfilingToAdminUsers: 1\n"
ALL_USERS = "RmProfilingAdminOnly: 0\n"


def with_permission(root: Path, parameters: str | None, status: str | None, users: str | None) -> FakeMachine:
    given = {PARAMETERS: parameters, STATUS: status, USERS: users}
    files = {name: text for name, text in given.items() if text is not None}
    return machine(root, files=files, absent=given.keys())


@pytest.mark.parametrize(
    ("parameters", "status", "users", "expected"),
    [
        (ALL_USERS, PLAIN, HOST_NAMESPACE, "OK"),
        (ONLY_ADMINISTRATORS, CAPABLE, HOST_NAMESPACE, "OK"),
        (ONLY_ADMINISTRATORS, CAPABLE, None, "OK"),
        (None, CAPABLE, HOST_NAMESPACE, "OK"),
        (ONLY_ADMINISTRATORS, PLAIN, HOST_NAMESPACE, "FAIL"),
        (OLDER_WORDS, PLAIN, HOST_NAMESPACE, "FAIL"),
        (ONLY_ADMINISTRATORS, CAPABLE, NAMESPACE, "FAIL"),
    ],
)
def test_counter_permission(
    tmp_path: Path, parameters: str | None, status: str, users: str | None, expected: str
) -> None:
    verdict = counter_permission(with_permission(tmp_path, parameters, status, users))
    assert verdict.status == expected
    assert verdict.fix == (failure("NCU-PERM").fix if expected == "FAIL" else "")


@pytest.mark.parametrize(("parameters", "status"), [(None, PLAIN), ("Other: 1\n", PLAIN), (ONLY_ADMINISTRATORS, None)])
def test_counter_permission_is_not_known(tmp_path: Path, parameters: str | None, status: str | None) -> None:
    with pytest.raises(NotKnown, match="/proc/"):
        counter_permission(with_permission(tmp_path, parameters, status, HOST_NAMESPACE))


@pytest.mark.parametrize(
    ("parameters", "status", "users", "expected", "words"),
    [
        (None, CAPABLE, HOST_NAMESPACE, "OK", "has CAP_SYS_ADMIN"),
        (ALL_USERS, PLAIN, HOST_NAMESPACE, "OK", "does not need it"),
        (ONLY_ADMINISTRATORS, PLAIN, HOST_NAMESPACE, "WARN", "does not have CAP_SYS_ADMIN"),
        (ONLY_ADMINISTRATORS, CAPABLE, NAMESPACE, "WARN", "within its namespace only"),
        (None, PLAIN, HOST_NAMESPACE, "UNKNOWN", "whether it needs it is not known"),
    ],
)
def test_administrator(
    tmp_path: Path, parameters: str | None, status: str, users: str, expected: str, words: str
) -> None:
    verdict = administrator(with_permission(tmp_path, parameters, status, users))
    assert verdict.status == expected
    assert verdict.fix == (failure("NCU-PERM").fix if expected == "WARN" else "")
    assert words in verdict.message


DRIVER, CONTROL = "/proc/driver/nvidia/version", "/dev/nvidiactl"
TRACES = ["/proc/version", "/.dockerenv", "/run/.containerenv", "/proc/1/cgroup", DRIVER, CONTROL]
GVISOR = "Linux version 4.4.0 #1 SMP Sun Jan 10 15:06:54 PST 2016\n"


@pytest.mark.parametrize(
    ("files", "environment", "expected", "words"),
    [
        ({}, {}, "OK", "no container"),
        ({"/proc/1/cgroup": "0::/init.scope\n"}, {}, "OK", "no container"),
        ({"/.dockerenv": ""}, {}, "OK", "(Docker)"),
        ({"/run/.containerenv": ""}, {}, "OK", "(Podman)"),
        ({"/proc/1/cgroup": "0::/kubepods/besteffort/pod1\n"}, {}, "OK", "(kubepods)"),
        ({}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "OK", "(Kubernetes)"),
        ({"/.dockerenv": "", DRIVER: "NVRM version"}, {}, "FAIL", "not passed into this container"),
        ({"/.dockerenv": "", DRIVER: "NVRM version", CONTROL: ""}, {}, "OK", "(Docker)"),
        ({"/.dockerenv": "", "/proc/version": GVISOR}, {}, "WARN", "gVisor"),
    ],
)
def test_container(
    tmp_path: Path, files: dict[str, str], environment: dict[str, str], expected: str, words: str
) -> None:
    verdict = container(machine(tmp_path, files=files, absent=TRACES, environment=environment))
    assert verdict.status == expected
    assert words in verdict.message
    assert "10.0.0.1" not in repr(verdict)


def running(root: Path, *processes: tuple[int, str, int]) -> FakeMachine:
    """A machine with these processes: number, name and the parent's number; one without a name has ended."""
    given = {
        f"/proc/{number}/stat": f"{number} ({name}) S {parent} 1 1 0 -1 0\n" if name else ""
        for number, name, parent in processes
    }
    return machine(root, files={**given, "/proc/sys/": ""})


@pytest.mark.parametrize(
    ("names", "expected", "words"),
    [
        (["bash", "python3"], "OK", "no other profiler"),
        (["bash", "ncu"], "WARN", "(ncu)"),
        (["nsys", "nv-hostengine"], "WARN", "(nsys)"),
        (["nv-hostengine"], "WARN", "DCGM"),
        (["dcgm-exporter"], "WARN", "DCGM"),
        (["bash", ""], "OK", "no other profiler"),
        (["x) S 1 (ncu"], "OK", "no other profiler"),
    ],
)
def test_profilers(tmp_path: Path, names: list[str], expected: str, words: str) -> None:
    verdict = profilers(running(tmp_path, *((number, name, 0) for number, name in enumerate(names, start=1))))
    assert verdict.status == expected
    assert words in verdict.message
    assert bool(verdict.fix) == (expected == "WARN")


def test_the_ncu_that_the_checks_start_is_no_other_profiler(tmp_path: Path) -> None:
    own = [(PID, "ncuview", 1), (5000, "ncu", PID), (5001, "ncu", 5000), (1, "init", 0)]
    assert profilers(running(tmp_path / "own", *own)).status == "OK"
    assert profilers(running(tmp_path / "foreign", *own, (6000, "ncu", 1))).status == "WARN"


def test_parents_that_go_round_end(tmp_path: Path) -> None:
    assert profilers(running(tmp_path, (8, "a", 9), (9, "ncu", 8))).status == "WARN"


def test_processes_that_cannot_be_seen(tmp_path: Path) -> None:
    with pytest.raises(NotKnown, match="cannot be read"):
        profilers(machine(tmp_path, absent=["/proc"]))
    with pytest.raises(NotKnown, match="no process"):
        profilers(machine(tmp_path, files={"/proc/": ""}))


LOCK, PROTECTED = "/tmp/nsight-compute-lock", "/proc/sys/fs/protected_regular"
SHARED = Owned(0, 0, stat.S_IFDIR | 0o1777)
FOREIGN, WRITABLE, OURS, GROUPS = Owned(7, 7, 0o644), Owned(7, 7, 0o666), Owned(1000, 7, 0o644), Owned(7, 1000, 0o660)


@pytest.mark.parametrize(
    ("lock", "uid", "expected"),
    [
        (None, 1000, "OK"),
        (OURS, 1000, "OK"),
        (GROUPS, 1000, "OK"),
        (WRITABLE, 1000, "OK"),
        (FOREIGN, 1000, "FAIL"),
        (FOREIGN, 0, "OK"),
        (Owned(1000, 7, 0o444), 1000, "FAIL"),
        (Owned(0, 0, 0o444), 0, "OK"),
    ],
)
def test_lock_file(tmp_path: Path, lock: Owned | None, uid: int, expected: str) -> None:
    made = machine(tmp_path, absent=[LOCK], owners={LOCK: lock} if lock else {}, uid=uid)
    assert lock_file(made).status == expected


def test_the_lock_file_is_where_temporary_files_are(tmp_path: Path) -> None:
    made = machine(tmp_path, owners={"/mine/nsight-compute-lock": FOREIGN}, environment={"TMPDIR": "/mine/"})
    assert lock_file(made).status == "FAIL"


@pytest.mark.parametrize(
    ("setting", "lock", "uid", "folder", "expected"),
    [
        ("1", FOREIGN, 0, SHARED, "WARN"),
        ("2", WRITABLE, 1000, SHARED, "WARN"),
        ("0", FOREIGN, 0, SHARED, "OK"),
        ("1", None, 0, SHARED, "OK"),
        ("1", OURS, 1000, SHARED, "OK"),
        ("1", FOREIGN, 0, Owned(7, 7, 0o1777), "OK"),
        ("1", FOREIGN, 0, Owned(0, 0, 0o755), "OK"),
    ],
)
def test_protected_files(
    tmp_path: Path, setting: str, lock: Owned | None, uid: int, folder: Owned, expected: str
) -> None:
    owners = {"/tmp": folder, **({LOCK: lock} if lock else {})}
    made = machine(tmp_path, files={PROTECTED: f"{setting}\n"}, absent=[LOCK], owners=owners, uid=uid)
    assert protected_files(made).status == expected


class Closed(FakeMachine):
    """A machine whose folder for temporary files may not be searched."""

    def owned(self, path: str) -> Owned:
        raise PermissionError(13, "Permission denied")


def test_a_lock_file_that_cannot_be_looked_at(tmp_path: Path) -> None:
    closed = Closed(**vars(machine(tmp_path, files={PROTECTED: "1\n"})))
    for check in (lock_file, protected_files):
        with pytest.raises(NotKnown, match="Permission denied"):
            check(closed)


def test_protected_files_are_not_known(tmp_path: Path) -> None:
    with pytest.raises(NotKnown, match="protected_regular"):
        protected_files(machine(tmp_path, absent=[PROTECTED]))
    with pytest.raises(NotKnown, match="no folder"):
        protected_files(machine(tmp_path, files={PROTECTED: "1\n"}, absent=[LOCK, "/tmp"]))


class Disk(FakeMachine):
    """A machine whose disk is nearly full, or holds folders that may not be written."""

    def free_bytes(self, folder: str) -> int:
        return int(self.environment.get("FREE", 1 << 40))

    def try_to_write(self, folder: str) -> None:
        if folder in self.environment.get("CLOSED", "").split(","):
            raise PermissionError(13, "Permission denied")
        super().try_to_write(folder)


def with_folders(root: Path, **environment: str) -> Disk:
    files = {"/tmp/": "", "/home/ada/": "", "/data/": ""}
    return Disk(**vars(machine(root, files=files, absent=["/gone"], environment={"HOME": "/home/ada", **environment})))


@pytest.mark.parametrize(
    ("environment", "expected", "words"),
    [
        ({}, "OK", "can be written"),
        ({"TMPDIR": "/gone"}, "FAIL", "temporary files cannot be written"),
        ({"CLOSED": "/tmp"}, "FAIL", "temporary files cannot be written"),
        ({"FREE": "1000"}, "FAIL", "no room"),
        ({"FREE": str(100 << 20)}, "WARN", "little room"),
        ({"HOME": ""}, "WARN", "HOME cannot be written"),
        ({"HOME": "/gone"}, "WARN", "HOME cannot be written"),
        ({"CLOSED": "/data"}, "WARN", "working folder cannot be written"),
        ({"CLOSED": "/data,/home/ada"}, "WARN", "HOME and working folder cannot be written"),
    ],
)
def test_folders(tmp_path: Path, environment: dict[str, str], expected: str, words: str) -> None:
    verdict = folders(with_folders(tmp_path, **environment))
    assert verdict.status == expected
    assert words in verdict.message
    assert not list((tmp_path / "tmp").iterdir()), "the trial leaves nothing"


def test_a_removed_working_folder(tmp_path: Path) -> None:
    gone = Disk(**{**vars(with_folders(tmp_path)), "folder": ""})
    assert folders(gone).message == "working folder cannot be written"


def test_free_room_is_the_file_systems(tmp_path: Path) -> None:
    made = machine(tmp_path, files={"/tmp/": ""})
    assert made.free_bytes("/tmp") > 0
    with pytest.raises(OSError, match="No such file"):
        machine(tmp_path, absent=["/gone"]).free_bytes("/gone")


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, "OK"),
        ({"CUDA_INJECTION64_PATH": ""}, "OK"),
        ({"NVTX_INJECTION64_PATH": "/a/libx.so"}, "WARN"),
        ({"CUDA_INJECTION64_PATH": "/a/liby.so", "NVTX_INJECTION64_PATH": "/a/libx.so"}, "FAIL"),
    ],
)
def test_injections(tmp_path: Path, environment: dict[str, str], expected: str) -> None:
    verdict = injections(machine(tmp_path, environment={**environment, "TOKEN": "CANARY"}))
    assert verdict.status == expected
    assert "CANARY" not in repr(verdict)
    assert verdict.fix == ("unset " + " ".join(name for name in environment) if expected != "OK" else "")


def test_owners_are_those_of_the_file_system(tmp_path: Path) -> None:
    made = machine(tmp_path, files={"/tmp/": ""})
    assert made.owned("/tmp").uid == os.getuid()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/ada/x", "~/x"),
        ("in /home/ada", "in ~"),
        ("/home/adam/x", "/home/adam/x"),
        ("/mnt/home/ada/x", "/mnt/home/ada/x"),
        ("LD=/home/ada:/lib", "LD=~:/lib"),
    ],
)
def test_home_folders_are_not_named(tmp_path: Path, text: str, shown: str) -> None:
    assert machine(tmp_path).shown(text) == shown


def test_text_is_read_up_to_a_limit(tmp_path: Path) -> None:
    made: Machine = machine(tmp_path, files={"/big": "x" * 100_000})
    assert len(made.text("/big")) == 65536
