"""``NcuOptions``: the ncu options that a user may set (launch filters, replay, caches, clocks), checked, as arguments.

Names and meanings are ncu's; ``argv`` returns the words of the command line.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ncuview.base.errors import UsageError


class KernelNameBase(StrEnum):
    """Which of a kernel's names ``kernel_name`` and ``kernel_id`` are compared with."""

    FUNCTION = "function"
    DEMANGLED = "demangled"
    MANGLED = "mangled"


class FilterMode(StrEnum):
    """Whether launches are counted together, or for each GPU or launch configuration."""

    GLOBAL = "global"
    PER_GPU = "per-gpu"
    PER_LAUNCH_CONFIG = "per-launch-config"


class TargetProcesses(StrEnum):
    """Whether processes that the program starts are profiled too."""

    ALL = "all"
    APPLICATION_ONLY = "application-only"


class ReplayMode(StrEnum):
    """What is run again to collect more than one pass holds."""

    KERNEL = "kernel"
    APPLICATION = "application"
    RANGE = "range"
    APP_RANGE = "app-range"


class AppReplayMode(StrEnum):
    """How much the runs of a program that is run again must be alike."""

    STRICT = "strict"
    BALANCED = "balanced"
    RELAXED = "relaxed"


class CacheControl(StrEnum):
    """Whether caches are flushed before each pass."""

    ALL = "all"
    NONE = "none"


class ClockControl(StrEnum):
    """Whether the clocks are locked at the GPU's base frequency while a kernel is profiled."""

    BASE = "base"
    NONE = "none"


class PipelineBoostState(StrEnum):
    """Whether the tensor cores' boost is held while a kernel is profiled."""

    STABLE = "stable"
    DYNAMIC = "dynamic"


class GraphProfiling(StrEnum):
    """Whether the kernels of a CUDA graph are profiled, or the graph as one."""

    NODE = "node"
    GRAPH = "graph"


_OURS = frozenset(
    {
        "apply-rules",
        "csv",
        "export",
        "force-overwrite",
        "help",
        "import",
        "log-file",
        "metrics",
        "mode",
        "open-in-ui",
        "page",
        "preload-library",
        "quiet",
        "version",
    }
)
"""Options of ncu that would take its report or its progress away from ncuview, that ncuview gives already, or that have
ncu or the program load code from elsewhere."""

_OURS_IN_ALL_FORMS = ("config-file", "injection-path", "list-", "query-", "section-folder")
_WHOLE_NAMES = frozenset({"section"})
"""Options whose names are the beginnings of such ones."""


@dataclass(frozen=True)
class NcuOptions:
    """ncu's options for one run; what is not given here is as ncu has it, but sources, caches and clocks.

    Attributes:
        kernel_name: Only kernels of exactly this name, or ``regex:`` and a pattern; empty for all.
        kernel_name_base: Which name that is; ncu's default is the function's.
        kernel_id: Only launches that match ``CONTEXT:STREAM:[regex:]NAME:INVOCATION``.
        launch_skip: Matching launches to leave out first.
        launch_skip_before_match: Launches to leave out first, whether they match or not.
        launch_count: Matching launches to profile at most; None for all.
        filter_mode: Over what these launches are counted.
        nvtx: NVTX ranges are recorded; ``nvtx_include`` and ``nvtx_exclude`` switch it on.
        nvtx_include: Only launches in a range that one of these describes.
        nvtx_exclude: No launches in a range that one of these describes.
        range_filter: Which ranges, ``[yes|no]:PROFILER RANGES:NVTX RANGES``.
        devices: Only GPUs of these numbers.
        target_processes: Which processes are profiled.
        target_processes_filter: Only processes of these names, or ``regex:`` and a pattern, ``exclude:`` and a name.
        replay_mode: What is run again.
        app_replay_mode: How much two runs of the program must be alike, where the program is run again.
        cache_control: Whether caches are flushed before each pass.
        clock_control: Whether clocks are locked.
        pipeline_boost_state: Whether the tensor cores' boost is held.
        import_source: The report keeps the source text, which advice by line needs.
        source_folders: Where sources are looked for that are not where they were compiled.
        profile_from_start: False waits for the program's ``cudaProfilerStart``.
        graph_profiling: What of a CUDA graph is profiled.
        kill: The program is ended once ``launch_count`` launches were profiled.
        ncu_args: Further options of ncu, as one would type them in a shell.
    """

    kernel_name: str = ""
    kernel_name_base: KernelNameBase | None = None
    kernel_id: str = ""
    launch_skip: int = 0
    launch_skip_before_match: int = 0
    launch_count: int | None = None
    filter_mode: FilterMode | None = None
    nvtx: bool = False
    nvtx_include: tuple[str, ...] = ()
    nvtx_exclude: tuple[str, ...] = ()
    range_filter: str = ""
    devices: tuple[int, ...] = ()
    target_processes: TargetProcesses = TargetProcesses.ALL
    target_processes_filter: tuple[str, ...] = ()
    replay_mode: ReplayMode = ReplayMode.KERNEL
    app_replay_mode: AppReplayMode | None = None
    cache_control: CacheControl = CacheControl.ALL
    clock_control: ClockControl = ClockControl.NONE
    pipeline_boost_state: PipelineBoostState | None = None
    import_source: bool = True
    source_folders: tuple[Path, ...] = ()
    profile_from_start: bool = True
    graph_profiling: GraphProfiling | None = None
    kill: bool = False
    ncu_args: str = ""

    def __post_init__(self) -> None:
        """Refuse what does not go together.

        Raises:
            UsageError: Options contradict each other, have no effect, or belong to ncuview.
        """
        for wrong, why, hint in self._contradictions():
            if wrong:
                raise UsageError(why, hint=hint)
        self.argv()

    def _contradictions(self) -> Iterator[tuple[object, str, str]]:
        app_replay = self.replay_mode in {ReplayMode.APPLICATION, ReplayMode.APP_RANGE}
        named = self.kernel_name or self.kernel_id
        counts = (self.launch_skip, self.launch_skip_before_match, *self.devices)
        apart = [folder for folder in self.source_folders if not folder.is_dir()]
        yield min(counts, default=0) < 0, "launches and devices are counted from 0", "Give no negative number."
        yield (
            self.launch_count is not None and self.launch_count < 1,
            "--launch-count 0 would profile nothing",
            "Leave it out to profile all launches.",
        )
        yield (
            self.kill and self.launch_count is None,
            "--kill ends the program after --launch-count launches, and no count is given",
            "Add --launch-count N.",
        )
        yield (
            self.kernel_name == "regex:",
            "regex: names no pattern",
            "A pattern of nothing would match every kernel.",
        )
        yield (
            self.kernel_name_base and not named,
            "--kernel-name-base says what --kernel-name is compared with, and no name is given",
            "Add --kernel-name NAME or regex:PATTERN.",
        )
        yield (
            self.kernel_id and self.kernel_id.count(":") < 3,
            f"{self.kernel_id!r} is no --kernel-id",
            "It is CONTEXT:STREAM:NAME:INVOCATION; each may be empty: ::saxpy:2.",
        )
        yield (
            self.range_filter and self.range_filter.count(":") != 2,
            f"{self.range_filter!r} is no --range-filter",
            "It is [yes|no]:PROFILER RANGES:NVTX RANGES; each may be empty: :[1-3]:.",
        )
        yield (
            self.range_filter.rpartition(":")[2] and not self.nvtx_include,
            "--range-filter counts NVTX ranges, and --nvtx-include names none",
            "Add --nvtx-include RANGE.",
        )
        yield (
            self.target_processes_filter and self.target_processes is TargetProcesses.APPLICATION_ONLY,
            "--target-processes-filter chooses among processes, and --target-processes application-only has one",
            "Leave out one of them.",
        )
        yield (
            self.app_replay_mode and not app_replay,
            "--app-replay-mode is about running the program again, which --replay-mode does not ask for",
            "Add --replay-mode application, or leave it out.",
        )
        yield (
            self.source_folders and not self.import_source,
            "--source-folders says where sources to import are, and --import-source no imports none",
            "Leave out one of them.",
        )
        yield apart, f"{apart[0] if apart else ''} is no folder", "--source-folders takes folders that exist."
        yield (
            any("," in str(folder) for folder in self.source_folders),
            "ncu takes no source folder with a comma in its name",
            "Name it through a link.",
        )

    def argv(self) -> list[str]:
        """The options as one word each, so that nothing that a user names can be taken for an option or a program.

        Raises:
            UsageError: ``ncu_args`` holds something other than options that may be passed on.
        """
        single = {
            "config-file": "off",
            "target-processes": self.target_processes,
            "target-processes-filter": ",".join(self.target_processes_filter),
            "apply-rules": "no",
            "import-source": _yes(self.import_source),
            "source-folders": ",".join(str(folder.absolute()) for folder in self.source_folders),
            "clock-control": self.clock_control,
            "cache-control": self.cache_control,
            "pipeline-boost-state": self.pipeline_boost_state,
            "replay-mode": "" if self.replay_mode is ReplayMode.KERNEL else self.replay_mode,
            "app-replay-mode": self.app_replay_mode,
            "graph-profiling": self.graph_profiling,
            "profile-from-start": "" if self.profile_from_start else "no",
            "kernel-name-base": self.kernel_name_base,
            **self._choice(),
            "filter-mode": self.filter_mode,
            "kill": "yes" if self.kill else "",
        }
        several = {"nvtx-include": self.nvtx_include, "nvtx-exclude": self.nvtx_exclude}
        nvtx = self.nvtx or any(several.values())
        return [
            *(f"--{name}={value}" for name, value in single.items() if value),
            *(["--nvtx"] if nvtx else []),
            *(f"--{name}={value}" for name, values in several.items() for value in values),
            *_passed_through(self.ncu_args, given={*single, *several, "nvtx"}),
        ]

    def chosen_by(self) -> tuple[str, ...]:
        """The options that leave out some of a program's launches, as the user types them; empty where none does."""
        names = [name for name, value in self._choice().items() if value]
        names += ["nvtx-include"] if self.nvtx_include else []
        names += ["nvtx-exclude"] if self.nvtx_exclude else []
        names += [] if self.profile_from_start else ["profile-from-start"]
        names += ["target-processes-filter"] if self.target_processes_filter else []
        names += ["target-processes"] if self.target_processes is TargetProcesses.APPLICATION_ONLY else []
        return tuple(f"--{name}" for name in names)

    def _choice(self) -> dict[str, str]:
        count = self.launch_count
        return {
            "kernel-name": self.kernel_name,
            "kernel-id": self.kernel_id,
            "launch-skip": str(self.launch_skip or ""),
            "launch-skip-before-match": str(self.launch_skip_before_match or ""),
            "launch-count": "" if count is None else str(count),
            "range-filter": self.range_filter,
            "devices": ",".join(map(str, self.devices)),
        }


def _yes(wanted: bool) -> str:
    return "yes" if wanted else "no"


def _passed_through(text: str, given: set[str]) -> list[str]:
    """The words of ``ncu_args``, each option joined with its value.

    ncu takes the first word that is no option for the program, and may take the beginning of an option's name for
    the whole.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--ncu-args {text!r}: {error}", hint="Quote it as in a shell.") from error
    options: list[str] = []
    for word in words:
        name = word.removeprefix("--").partition("=")[0]
        if word.startswith("--") and name:
            abbreviates = any(own.startswith(name) for own in (*_OURS, *_OURS_IN_ALL_FORMS))
            if (abbreviates and name not in _WHOLE_NAMES) or name.startswith(_OURS_IN_ALL_FORMS):
                raise UsageError(
                    f"--ncu-args: {word} would take the report away from ncuview, or load code from elsewhere",
                    hint="Run ncu yourself for it; `ncuview rules --metrics` says what to collect.",
                )
            if any(own.startswith(name) for own in given):
                raise UsageError(
                    f"--ncu-args: {word} is an option of ncuview itself", hint="Give it without --ncu-args."
                )
            options.append(word)
        elif options and "=" not in options[-1] and not word.startswith("-"):
            options[-1] += f"={word}"
        else:
            raise UsageError(f"--ncu-args: {word!r} is no option of ncu", hint="Write options out: --name=value.")
    return options
