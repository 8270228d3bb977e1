"""Exception classes of all expected failures, each with a message, an exit code, an id and a hint.

The command line prints message, id and hint and exits with the exit code, which depends on the class:

::

    NcuviewError
      ├ UsageError              2   what the user typed: UnknownKernel, UnknownFamily, UnknownRule, UnknownMetric,
      │                             TableError, BudgetError, BaselineError, PluginError, OutsideRoots, NeedsAllowRun
      ├ QuantityError           2   a function that cannot be a quantity, or a user's that fails: ShippedQuantityError
      │                             (70) for one of ``metrics/quantities``
      ├ RuleFileError           2   a rule file or kernel file: UnsafeExpression, UnsafeTemplate, KernelFileError
      ├ ReportError             3   no usable data: ReportUnreadable, ReportDamaged, ReportEmpty, NothingProfiled
      ├ NotComparable           4   two profiles that cannot be compared: BaselineMissing
      ├ ToolError               5   this machine: NeedsLinux, GpuNotFound, NcuNotFound, NcuRefused,
      │                             CompilerNotFound, LauncherNotFound
      ├ ProgramError            6   the profiled program: CompileFailed, WrongResult, ProgramFailed
      └ Incomplete   2, 3, 5, 6     not everything was profiled, for one of these four reasons

A missing metric is no error but an outcome (``records.diagnosis.Skipped``). Only ``cli.main`` converts an error to a
message and an exit code; for anything that is not a ``NcuviewError`` that is 70, never 0 or 1. A gate that does not
pass is no error: ``gate.verdict`` gives it 1, or 3 and 4 where it could not be judged.
"""

from __future__ import annotations


class NcuviewError(Exception):
    """Base of all expected failures.

    Attributes:
        hint: What the user can do next, as a sentence or a command.
        exit_code: The process's exit status when this error ends it.
        id: A stable name for programs: that of the failure catalogue, such as ``NCU-PERM``, else the class's.
    """

    exit_code = 70

    def __init__(self, message: str, *, hint: str = "", id: str = "") -> None:  # noqa: A002  (what JSON calls it)
        super().__init__(message)
        self.hint = hint
        self.id = id or type(self).__name__


class UsageError(NcuviewError):
    """The command line asks for something that does not exist or does not go together."""

    exit_code = 2


class UnknownKernel(UsageError):
    """No kernel of the catalogue, file or report has this name."""


class UnknownFamily(UsageError):
    """No family of the catalogue has this name."""


class UnknownRule(UsageError):
    """No loaded rule has this code or name."""


class UnknownMetric(UsageError):
    """Neither nvprof nor the textbooks have a metric of this name."""


class TableError(UsageError):
    """The user's table of attainable shares cannot be used or written; the message names file and key."""


class BudgetError(UsageError):
    """A budget file cannot be used; the message names file, entry and key."""


class BaselineError(UsageError):
    """A baseline cannot be used or written; the message names file and key."""


class PluginError(UsageError):
    """An entry point of an installed package cannot be used; the message names entry point and package."""


class OutsideRoots(UsageError):
    """A client of ``ncuview mcp`` names a file that is not below the folders that the server may read."""


class NeedsAllowRun(UsageError):
    """A client of ``ncuview mcp`` asks for what starts a program, and the server was started without --allow-run."""


class QuantityError(NcuviewError):
    """The function of a quantity cannot be used; the message names file, line, quantity and parameter."""

    exit_code = 2


class ShippedQuantityError(QuantityError):
    """A quantity that ships fails on a launch, which is a bug of ncuview; the message names file, line and quantity."""

    exit_code = 70


class RuleFileError(NcuviewError):
    """A rule or kernel file cannot be used; the message names file and key."""

    exit_code = 2


class UnsafeExpression(RuleFileError):
    """An expression holds something other than the arithmetic that rule files may use."""


class UnsafeTemplate(RuleFileError):
    """A message template holds something other than a formatted value."""


class KernelFileError(RuleFileError):
    """The front matter of a kernel file is missing, incomplete or contradicts itself."""


class ReportError(NcuviewError):
    """There is no usable data."""

    exit_code = 3


class ReportUnreadable(ReportError):
    """The file cannot be opened, or is not a report at all."""


class ReportDamaged(ReportError):
    """The file is a report, but part of it is missing or wrong."""


class ReportEmpty(ReportError):
    """The report is complete and holds no kernel launch."""


class NothingProfiled(ReportError):
    """ncu ran and recorded no launch, or not the requested metrics."""


class Incomplete(NcuviewError):
    """A profile has a ``failure``, and the request needs a complete profile; the exit code is the failure's."""

    def __init__(self, message: str, *, hint: str = "", id: str = "", exit_code: int = 3) -> None:  # noqa: A002
        """Name what is missing.

        Args:
            message: As for all errors.
            hint: As for all errors.
            id: As for all errors.
            exit_code: That of the failure: of the report, its name, ncu or the program.
        """
        super().__init__(message, hint=hint, id=id)
        self.exit_code = exit_code


class NotComparable(NcuviewError):
    """Two profiles come from different GPUs, versions of ncu or settings, or have no kernel in common."""

    exit_code = 4


class BaselineMissing(NotComparable):
    """The baseline to compare with is missing."""


class ToolError(NcuviewError):
    """Something that profiling needs is missing on this machine, or refused."""

    exit_code = 5


class NeedsLinux(ToolError):
    """What was asked for is there on Linux only: profiling."""


class GpuNotFound(ToolError):
    """No NVIDIA driver or GPU was found."""


class NcuNotFound(ToolError):
    """Nsight Compute's command line was not found."""


class NcuRefused(ToolError):
    """ncu could not profile: permissions, a busy GPU, an incompatible driver."""


class CompilerNotFound(ToolError):
    """nvcc was not found."""


class LauncherNotFound(ToolError):
    """PyCUDA is not installed; it is the extra ``ncuview[gpu]``."""


class TunerNotFound(ToolError):
    """Kernel Tuner is not installed; it is in the extra ``ncuview[try]``."""


class ProgramError(NcuviewError):
    """The program that was to be profiled failed."""

    exit_code = 6


class CompileFailed(ProgramError):
    """nvcc rejected the kernel."""


class WrongResult(ProgramError):
    """The kernel's result differs from its oracle's; its profile must not be used."""


class ProgramFailed(ProgramError):
    """The program ended with an error of its own."""
