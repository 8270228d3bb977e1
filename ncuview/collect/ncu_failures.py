"""The failure catalogue of ncu: what it prints, what that means in plain words, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from ncuview.errors import NcuRefused, NcuviewError, NothingProfiled, ProgramFailed, UsageError


@dataclass(frozen=True)
class Failure:
    """One way in which ncu fails."""

    id: str
    """Its stable name, which ends every message."""
    texts: tuple[str, ...]
    """Regular expressions for what different releases print; a named group may be used in ``what``."""
    error: type[NcuviewError]
    what: str
    """What happened."""
    fix: str
    """What to do."""


CAUSES: tuple[Failure, ...] = (
    Failure(
        "NCU-PERM",
        (r"ERR_NVGPUCTRPERM", r"\bInsufficient\w*Permissions\b"),
        NcuRefused,
        "The driver lets only administrators read this GPU's counters",
        "As administrator, put `options nvidia NVreg_RestrictProfilingToAdminUsers=0` into a file in /etc/modprobe.d, "
        "rebuild the initrd and reboot; in a container, that host setting or --cap-add=SYS_ADMIN is enough. "
        "Many rented GPUs allow neither.",
    ),
    Failure(
        "NCU-BUSY",
        (r"driver resource was unavailable", r"\bResourceUnavailable\b"),
        NcuRefused,
        "Another tool is using this GPU's counters",
        "Stop the other profiler, or pause DCGM with `dcgmi profile --pause` (and `--resume` afterwards); "
        "look for an ncu left over from a killed run.",
    ),
    Failure(
        "NCU-LOCK",
        (r"Failed to open/create lock file", r"\bInterprocessLockFailed\b"),
        NcuRefused,
        "The lock file that ncu shares between users belongs to somebody else",
        "Have its owner remove nsight-compute-lock from the folder for temporary files, "
        "or, if nobody else profiles on this GPU, set TMPDIR to a folder of your own.",
    ),
    Failure(
        "NCU-TMP",
        (r"Failed to create temporary file",),
        NcuRefused,
        "ncu cannot write temporary files",
        "Set TMPDIR to a folder that exists and that you may write to.",
    ),
    Failure(
        "NCU-STUB",
        (r"failed to connect to the CUDA driver",),
        NcuRefused,
        "The program found no working CUDA driver",
        "Check that nvidia-smi works, and take folders named `stubs` out of LD_LIBRARY_PATH.",
    ),
    Failure(
        "NCU-DRIVER",
        (
            r"driver is not compatible with Nsight Compute",
            r"Failed to load Nsight Compute CUDA modules",
            r"Insufficient driver version",
            r"\bInsufficientDriverVersion\b",
        ),
        NcuRefused,
        "This ncu and this driver do not fit together",
        "Use the ncu of a CUDA toolkit that the driver serves (nvidia-smi shows which), or update the driver.",
    ),
    Failure(
        "NCU-LIB",
        (r"\bLibraryNotLoaded\b", r"\bLibraryInvalidVersion\b", r"Incompatible PerfWorks library"),
        NcuRefused,
        "ncu could not load its own libraries, or found those of another release",
        "Take other toolkits out of LD_LIBRARY_PATH, or reinstall Nsight Compute.",
    ),
    Failure(
        "NCU-GPU",
        (r"\bUnsupportedGpu\b", r"\bUnsupported(?:Sli|Cmp)Configuration\b", r"ERR_NVCMPGPU"),
        NcuRefused,
        "This ncu cannot profile on this GPU, or not in its present mode",
        "Compare `ncu --list-chips` with the GPU; an older or newer Nsight Compute may know it.",
    ),
    Failure(
        "NCU-MIG-CLK",
        (r"Cannot lock GPU clock frequencies on MIG",),
        NcuRefused,
        "ncu cannot lock the clocks of a GPU that is cut into instances (MIG)",
        "Profile with --clock-control none, or have an administrator lock them with `nvidia-smi --lock-gpu-clocks`.",
    ),
    Failure(
        "NCU-CLK",
        (r"Failed to lock GPU clock frequencies", r"\bLockingClocksFailed\b"),
        NcuRefused,
        "ncu could not lock the GPU's clocks",
        "Profile with --clock-control none; `ncu --clock-control reset` frees clocks that a killed run left locked.",
    ),
    Failure(
        "NCU-LAUNCH",
        (r"==ERROR== LaunchFailed\b",),
        ProgramFailed,
        "A kernel faulted while it was profiled",
        "Run the program under compute-sanitizer: it names the bad access.",
    ),
    Failure(
        "NCU-OOM",
        (
            r"^Unhandled C\+\+ exception: bad allocation",
            r"Failed to save memory for replay",
            r"Insufficient free memory for profiling",
            r"Insufficient memory and disk space to save context state",
            r"\bOutOfMemory\b",
        ),
        NothingProfiled,
        "There is too little memory to save what the kernel overwrites between two passes",
        "Profile a smaller problem, or fewer metrics: what fits into one pass need not be saved.",
    ),
    Failure(
        "NCU-REPLAY",
        (
            r"\bApplicationReplayMismatch\b",
            r"Application replay requires that the execution",
            r"\bReplayLoopExitEarly\b",
        ),
        NothingProfiled,
        "The program did not launch the same kernels in every pass",
        "Make it deterministic: a fixed seed, and no tuning by timing.",
    ),
    Failure(
        "NCU-EXISTS",
        (r"File .* already exists",),
        UsageError,
        "The report to be written exists already",
        "Name another file, or remove this one.",
    ),
    Failure(
        "NCU-WRITE",
        (r"Unable to write to file", r"Failed to save the report to file"),
        UsageError,
        "ncu cannot write the report",
        "Check that the folder exists, that you may write to it, and that the disk has room.",
    ),
    Failure(
        "NCU-USAGE",
        (
            r"unrecogni[sz]ed option",
            r"option '.*' cannot be specified more than once",
            r"Option '.*' is not supported with",
            r"Invalid regex provided to",
            r"did not match any section",
            r"does not exist or is not an executable",
        ),
        UsageError,
        "ncu does not accept its command line",
        "Correct what it names; if it names an option that you did not give, this ncu is too old.",
    ),
    Failure(
        "NCU-METRIC",
        (r"Failed to find metric (?:regex:)?\^?(?P<metric>[\w.:]+)",),
        NothingProfiled,
        "ncu knows no metric {metric} for this GPU",
        "`ncu --query-metrics` lists what it knows; leave out the rules that need this one.",
    ),
    Failure(
        "NCU-SET",
        (r"No metrics to collect found in sections",),
        UsageError,
        "ncu was asked for a set that holds no metric",
        "`ncu --list-sets` lists the sets that it knows.",
    ),
    Failure(
        "NCU-MIX",
        (r"Failed to prepare kernel for profiling", r"Unknown Error on device"),
        NcuRefused,
        "ncu could not set a kernel up for profiling",
        "Try the ncu of the CUDA toolkit that the program was built with.",
    ),
    Failure(
        "NCU-INJ",
        (r"Another tool/injection might be loaded",),
        NcuRefused,
        "Another tool has attached itself to the program",
        "Unset CUDA_INJECTION64_PATH and NVTX_INJECTION64_PATH.",
    ),
    Failure(
        "NCU-CRASH",
        (
            r"application returned an error code \((?:6|11|134|137|139)\)",
            r"Connection error detected communicating with target application",
        ),
        ProgramFailed,
        "The program crashed",
        "Run it without ncu. If it crashes there too, start with `cuda-gdb --args`; "
        "if not, look for another tool that is loaded with it.",
    ),
    Failure(
        "NCU-APP",
        (r"application returned an error code \((?!9\))(?P<code>\d+)\)",),
        ProgramFailed,
        "The program ended with exit code {code}",
        "Run it without ncu until it ends with 0.",
    ),
)
"""Most specific first: the first that matches any line is the cause."""

SYMPTOMS: tuple[Failure, ...] = (
    Failure(
        "NCU-UNKNOWN",
        (r"==ERROR== (?!The application returned an error code|Failed to profile|An error occurred)",),
        NcuRefused,
        "ncu failed in a way that is not in the catalogue",
        "Search for ncu's words; `ncu --version` and `nvidia-smi` are what others will ask for.",
    ),
    Failure(
        "NCU-PART",
        (r"Failed to profile ", r"An error occurred while trying to profile", r"Received signal"),
        NothingProfiled,
        "ncu was stopped in the middle of a launch",
        "Run it again and let it finish; partial reports are not used.",
    ),
    Failure(
        "NCU-CRASH",
        (r"application returned an error code \(9\)",),
        ProgramFailed,
        "The program was killed",
        "Look into the kernel's log (dmesg) for an out-of-memory kill, and run the program without ncu.",
    ),
    Failure(
        "NCU-NOKERN",
        (r"No kernels were profiled",),
        NothingProfiled,
        "ncu saw no kernel to profile",
        "Run the program without ncu and check that it launches a kernel on this GPU.",
    ),
    Failure(
        "NCU-MIG-MET",
        (r"Unable to access the following \d+ metrics: .*MIG",),
        NothingProfiled,
        "Some metrics belong to units that this GPU's instances share (MIG)",
        "Leave out the rules that need them, or profile on a whole GPU.",
    ),
)
"""What follows from nearly every cause, so it counts only when no cause is named, and only when there is no report."""

_REMARK = re.compile(r"==(?:ERROR|WARNING)== .*|==PROF== Received signal.*|^Unhandled C\+\+ exception.*")
_PROGRAM_RAN = re.compile(r"==PROF==|==ERROR== The application returned|No kernels were profiled")


def remarks(log: str) -> list[str]:
    """The lines of a log that are ncu's own complaints, not the program's output."""
    # ncu marks its lines, except for errors before it starts the program; later an unmarked line is the program's.
    if not _PROGRAM_RAN.search(log):
        return log.splitlines()
    return [remark[0] for line in log.splitlines() if (remark := _REMARK.search(line))]


def first_match(failures: Iterable[Failure], lines: Sequence[str]) -> tuple[Failure, re.Match[str]] | None:
    """The first failure of which any line speaks."""
    for failure in failures:
        for line in lines:
            if match := re.search("|".join(failure.texts), line):
                return failure, match
    return None


def stopped_in_a_launch(seconds: float, kernel: str, index: int) -> NothingProfiled:
    """The time was over while ncu was at work on one launch."""
    return NothingProfiled(
        f'ncu was stopped after {seconds:.0f} s, while it profiled "{kernel}" (launch {index}) [NCU-HANG]',
        hint="A kernel that waits for another one, as collectives do, never ends under ncu: leave it out. "
        "A slow one needs a smaller problem, fewer metrics or more time.",
    )


def stopped_between_launches(seconds: float, finished: int) -> NothingProfiled:
    """The time was over while the program ran on its own."""
    return NothingProfiled(
        f"ncu was stopped after {seconds:.0f} s, while the program ran on; launches profiled: {finished} [NCU-PART]",
        hint="Give it more time, or profile a shorter run of the program.",
    )
