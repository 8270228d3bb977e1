"""Cases for the played ncu: what it prints in every failure of the catalogue, in two wordings or more."""

from __future__ import annotations

from dataclasses import dataclass

from ncuview.base.errors import NcuRefused, NcuviewError, NothingProfiled, ProgramFailed, ReportError, UsageError
from tests.profiling.played import BACKING_UP, BEGUN, BROKEN_OFF, CLOCKS, CONNECTED, DONE, NOTHING, returned
from tests.reader.builder import report as made_report

LAUNCH = CONNECTED + BEGUN + DONE
LIST = "Available Kernels:\n1. copy\n2. transposeNaive\n3. void foo<int>(int *)\n"


@dataclass(frozen=True)
class Case:
    """What ncu does in one failure, in the words of one release."""

    id: str
    error: type[NcuviewError] | None
    returncode: int
    stdout: str = ""
    stderr: str = ""
    report: bool = False
    data: bytes | None = None
    """The content of a report that is not complete."""
    launches: int | None = None
    """How many launches a report holds, where that is not what the log says."""
    hangs: bool = False
    disk_full: bool = False
    survives_less: bool = False
    """Whether every later run, with a smaller plan, goes well."""


def in_a_launch(id_: str, error: type[NcuviewError], *texts: str, before: str = "") -> list[Case]:
    """ncu says it at work on the first launch, on both of its streams or on one, and kills the program."""
    cases = []
    for place, text in enumerate(texts):
        said = before + text + "\n"
        streams = [(said, said), (said, ""), ("", said)][place % 3]
        out = CLOCKS + CONNECTED + BEGUN + "\n" + streams[0] + BROKEN_OFF + returned(9) + NOTHING
        cases.append(Case(id_, error, 9, out, streams[1]))
    return cases


def before_the_program(id_: str, error: type[NcuviewError], *texts: str) -> list[Case]:
    """ncu says it instead of starting the program; 2022.3 leaves with 255, 2025.3.1 with 1."""
    return [
        Case(id_, error, code, stdout=text + "\n")
        if text.startswith("==")
        else Case(id_, error, code, stderr=text + "\n")
        for text in texts
        for code in (255, 1)
    ]


def at_the_end(id_: str, error: type[NcuviewError] | None, *texts: str, returncode: int = 0) -> list[Case]:
    """ncu prints it although it leaves a complete report."""
    return [Case(id_, error, returncode, LAUNCH + text, report=True) for text in texts]


def version(number: int) -> bytes:
    return made_report(1).replace(b"\x02\x00\x00\x00\x08\x07", b"\x02\x00\x00\x00\x08" + bytes([number]), 1)


COMPLETE = made_report(1)
PERMISSION = "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU Performance Counters "
UNAVAILABLE = "==WARNING== Unable to access the following 2 metrics: a.sum, b.sum."
MANY = "".join(f'==PROF== Profiling "copy" - {at}: 0%{DONE}' for at in range(201))
MANY_OF = "".join(f'==PROF== Profiling "copy" - {at} ({at + 1}/300): 0%{DONE}' for at in range(250))

CATALOGUE = [
    *in_a_launch(
        "NCU-PERM",
        NcuRefused,
        PERMISSION + "on the target device 0.",
        PERMISSION + "on device 0. For instructions see https://developer.nvidia.com/ERR_NVGPUCTRPERM",
        "==ERROR== Failed to initialize the profiler: InsufficientPermissions",
        "==ERROR== InsufficientVGpuPermissions",
        "==ERROR== InsufficientConfidentialComputingPermissions",
    ),
    # The program ran on after the error, to a good end.
    Case("NCU-PERM", NcuRefused, 0, CONNECTED + PERMISSION + "\n" + NOTHING),
    Case("NCU-PERM", NcuRefused, 0, CONNECTED + PERMISSION + "\n", report=True),
    *in_a_launch(
        "NCU-BUSY",
        NcuRefused,
        "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other tool (like DCGM) "
        "is concurrently collecting profiling data. See https://docs.nvidia.com/nsight-compute/#faq for more details.",
        "==ERROR== ResourceUnavailable",
    ),
    *in_a_launch(
        "NCU-LOCK",
        NcuRefused,
        "==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that this process has write "
        "permissions on this file.",
        "==ERROR== InterprocessLockFailed",
    ),
    *before_the_program(
        "NCU-TMP",
        NcuRefused,
        "ERROR: Failed to create temporary file. Specify the TMPDIR environment variable or use --export option.",
        "==ERROR== Failed to create temporary file. Specify the TMPDIR environment variable or use --export option.",
    ),
    Case(
        "NCU-STUB",
        NcuRefused,
        1,
        "==ERROR== Nsight Compute failed to connect to the CUDA driver (stub libcuda.so[.1] on path?).\n"
        + returned(1)
        + NOTHING,
    ),
    Case(
        "NCU-STUB",
        NcuRefused,
        1,
        CONNECTED + returned(1),
        "==ERROR== Nsight Compute failed to connect to the CUDA driver (stub libcuda.so.1 on path?).\n",
    ),
    *in_a_launch(
        "NCU-DRIVER",
        NcuRefused,
        "==ERROR== Cuda driver is not compatible with Nsight Compute.",
        "==WARNING== Failed to load Nsight Compute CUDA modules.",
        "==ERROR== Insufficient driver version to profile on device 0.",
        "==ERROR== InsufficientDriverVersion",
    ),
    *in_a_launch(
        "NCU-LIB",
        NcuRefused,
        "==ERROR== Failed to initialize the profiler: LibraryNotLoaded",
        "==ERROR== LibraryInvalidVersion",
        "==ERROR== Incompatible PerfWorks library (failed to load libnvperf_host.so)",
    ),
    *in_a_launch(
        "NCU-MIX",
        NcuRefused,
        "==ERROR== Failed to prepare kernel for profiling\n==ERROR== Unknown Error on device 0.",
        "==ERROR== Unknown Error on device 0.",
    ),
    *in_a_launch(
        "NCU-GPU",
        NcuRefused,
        "==ERROR== UnsupportedGpu",
        "==ERROR== ERR_NVCMPGPU",
        "==ERROR== UnsupportedSliConfiguration",
    ),
    *in_a_launch(
        "NCU-MIG-CLK",
        NcuRefused,
        "==ERROR== Cannot lock GPU clock frequencies on MIG! Try locking the clocks externally (e.g. using 'nvidia-smi "
        "--lock-gpu-clocks=tdp,tdp') or profile without fixed frequencies (see '--clock-control').",
        "==ERROR== Cannot lock GPU clock frequencies on MIG. See '--clock-control'.",
    ),
    *[
        Case("NCU-MIG-MET", NothingProfiled, 0, CONNECTED + text)
        for text in (
            f"{UNAVAILABLE} If profiling on a MIG instance, it is not possible to collect metrics from shared units\n",
            f"{UNAVAILABLE} On MIG, units are shared.\n",
        )
    ],
    *at_the_end("NCU-MIG-MET", None, f"{UNAVAILABLE} If profiling on a MIG instance\n"),
    *in_a_launch(
        "NCU-CLK",
        NcuRefused,
        "==ERROR== Failed to lock GPU clock frequencies! Try again.",
        "==ERROR== LockingClocksFailed",
    ),
    Case(
        "NCU-LAUNCH",
        ProgramFailed,
        9,
        CONNECTED + BEGUN + "==ERROR== LaunchFailed\n" + BROKEN_OFF + returned(9),
        report=True,
        launches=1,
    ),
    Case(
        "NCU-LAUNCH",
        ProgramFailed,
        9,
        CONNECTED + BEGUN + BROKEN_OFF + returned(9),
        "==ERROR== Failed to profile kernel: LaunchFailed\n",
    ),
    Case("NCU-NOKERN", NothingProfiled, 0, CONNECTED + NOTHING),
    Case(
        "NCU-NOKERN",
        NothingProfiled,
        0,
        NOTHING + "Profiling kernels launched by child processes requires the --target-processes all option.\n",
    ),
    Case(
        "NCU-NOKERN",
        NothingProfiled,
        0,
        NOTHING + "Note that specified NVTX include expressions match only push/pop ranges.\n",
    ),
    Case("NCU-NOKERN", NothingProfiled, 0, CONNECTED + NOTHING + LIST),
    Case("NCU-NOKERN", NothingProfiled, 0, "the program said this\n"),
    Case("NCU-APP", ProgramFailed, 42, LAUNCH + returned(42), report=True),
    Case("NCU-APP", ProgramFailed, 1, returned(1) + NOTHING),
    Case("NCU-CRASH", ProgramFailed, 11, CONNECTED + returned(11) + NOTHING),
    Case("NCU-CRASH", ProgramFailed, 6, LAUNCH + returned(6), report=True),
    Case("NCU-CRASH", ProgramFailed, 139, CONNECTED + returned(139)),
    Case("NCU-CRASH", ProgramFailed, 9, CONNECTED + returned(9) + NOTHING),
    Case(
        "NCU-CRASH",
        ProgramFailed,
        1,
        CONNECTED + "==ERROR== Connection error detected communicating with target application.\n",
    ),
    *in_a_launch(
        "NCU-INJ",
        NcuRefused,
        "==ERROR== Another tool/injection might be loaded since CUDA_INJECTION64_PATH is set to /x.so.",
        "==WARNING== Another tool/injection might be loaded since NVTX_INJECTION64_PATH is set to /x.so.",
    ),
    Case("NCU-HANG", NothingProfiled, 9, CONNECTED + BEGUN, hangs=True),
    Case(
        "NCU-HANG",
        NothingProfiled,
        9,
        CONNECTED
        + BEGUN
        + "\n==WARNING== Launching the workload is taking more time than expected. If this continues to "
        "hang, terminate the profile and re-try by profiling the range of all related launches using '--replay-mode "
        "range'.\n",
        hangs=True,
    ),
    *in_a_launch(
        "NCU-OOM",
        NothingProfiled,
        BACKING_UP + "Unhandled C++ exception: bad allocation",
        "==ERROR== Failed to save memory for replay",
        "==ERROR== Failed to prepare kernel for profiling\n==ERROR== Failed to save memory for replay",
        "==ERROR== Insufficient free memory for profiling on the device.",
        "==ERROR== Insufficient memory and disk space to save context state!",
        "==ERROR== OutOfMemory",
    ),
    *in_a_launch(
        "NCU-REPLAY",
        NothingProfiled,
        "==ERROR== Application replay requires that the execution of the application guarantees a consistent kernel "
        "order in all passes.",
        "==ERROR== ApplicationReplayMismatch",
        "==ERROR== ReplayLoopExitEarly",
    ),
    *before_the_program(
        "NCU-EXISTS",
        UsageError,
        "==ERROR== File f8.ncu-rep already exists. Use '-f' for overwriting the file.",
        "==ERROR== File /x/f8.ncu-rep already exists. Use --force-overwrite for overwriting the file.",
    ),
    *before_the_program(
        "NCU-WRITE",
        UsageError,
        "==ERROR== Unable to write to file X.ncu-rep. Please verify this file is not locked, and writable.",
    ),
    Case("NCU-WRITE", UsageError, 1, LAUNCH + "==ERROR== Failed to save the report to file /x/X.ncu-rep\n"),
    Case("NCU-FULL", NothingProfiled, 0, LAUNCH),
    Case("NCU-FULL", NothingProfiled, 1, LAUNCH + "==ERROR== Failed to save the report: No space left on device\n"),
    Case("NCU-FULL", NothingProfiled, 0, LAUNCH, report=True, data=COMPLETE[:-9], disk_full=True),
    *before_the_program(
        "NCU-USAGE",
        UsageError,
        "unrecognised option '--bogus'",
        "option '--apply-rules' cannot be specified more than once",
        "==ERROR== Invalid regex provided to --kernel option. (",
        "==ERROR== x did not match any section",
        "'/x' does not exist or is not an executable.",
        "==ERROR== '/x' does not exist or is not an executable. Please make sure to specify the correct path.",
    ),
    Case("NCU-SET", UsageError, 0, CONNECTED + "==WARNING== No metrics to collect found in sections.\n"),
    Case("NCU-SET", UsageError, 0, LAUNCH + NOTHING, "==WARNING== No metrics to collect found in sections.\n"),
    *in_a_launch(
        "NCU-METRIC",
        NothingProfiled,
        "==ERROR== Failed to breakdown metric. Skipping",
        "==ERROR== Failed to find metric regex:^sm__bogus.sum(\\.|$)",
        "==ERROR== Failed to find metric sm__bogus.sum",
    ),
    *at_the_end(
        "NCU-HOME",
        None,
        "==WARNING== Could not determine user home directory for section deployment.\n",
        "==WARNING== Could not determine user home directory.\n",
    ),
    Case("NCU-PART", NothingProfiled, 9, CONNECTED + BEGUN + "\n" + BROKEN_OFF + returned(9)),
    Case("NCU-PART", NothingProfiled, 9, CONNECTED + "==PROF== Received signal\n"),
    Case("NCU-PART", NothingProfiled, 0, LAUNCH + BEGUN + DONE, report=True, launches=1),
    Case("NCU-CORRUPT", ReportError, 0, LAUNCH, report=True, data=COMPLETE[: len(COMPLETE) // 2]),
    Case("NCU-CORRUPT", ReportError, 0, LAUNCH, report=True, data=COMPLETE + b"\0"),
    Case("NCU-VERSION", ReportError, 0, LAUNCH, report=True, data=version(8)),
    Case("NCU-VERSION", ReportError, 0, LAUNCH, report=True, data=version(100)),
    Case("NCU-PLAN", None, 139, LAUNCH + "\n" + returned(139), survives_less=True),
    Case(
        "NCU-PLAN",
        None,
        134,
        LAUNCH + "\n" + BACKING_UP + "Unhandled C++ exception: bad allocation\n",
        survives_less=True,
    ),
    Case("NCU-JIT", None, 0, CONNECTED + MANY, report=True),
    Case("NCU-JIT", None, 0, CONNECTED + MANY_OF, report=True),
    *in_a_launch("NCU-UNKNOWN", NcuRefused, "==ERROR== FluxCapacitorFailed"),
    Case("NCU-UNKNOWN", NcuRefused, 127, stderr="ncu: cannot find its own libraries\n"),
]
IDS = [f"{case.id}-{at}" for at, case in enumerate(CATALOGUE)]
SAID = [case for case in CATALOGUE if case.error and not (case.data or case.hangs or case.disk_full or case.launches)]
"""Cases that follow from the log, the exit code and the presence of a report."""
