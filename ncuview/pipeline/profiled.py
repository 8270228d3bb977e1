"""Run a program, a Python function or catalogue kernels under ncu and read the reports into a ``Profile``.

``profile_program`` and ``profile_launches`` run ncu; ``read_with_sources`` reads given reports and their sources, and
``read_each_with_sources`` each into a profile of its own.

The reader is started while ncu runs. ``planned_metrics`` lists the metrics that the rules need.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Self

from ncuview.base.errors import ReportError
from ncuview.reader.child import PrestartedChildren
from ncuview.records.profile import failure_of

if TYPE_CHECKING:
    from ncuview.catalogue.compiler import Compiled
    from ncuview.catalogue.kernels import Launch
    from ncuview.engine.rule_file import Rule
    from ncuview.profiling.callable import Target
    from ncuview.profiling.job import Profiled
    from ncuview.profiling.ncu_output import Progress
    from ncuview.profiling.options import NcuOptions
    from ncuview.records.profile import Profile

_NEEDED_LATER = (
    "ncuview.reader.frames",
    "ncuview.reader.reader",
    "ncuview.engine.rank",
    "ncuview.patch",
    "ncuview.render.terminal",
)
"""Modules that read, judge and show a report, with pandas and everything else that they import."""


def planned_metrics(rules: Sequence[Rule] | None) -> Sequence[str]:
    """The metrics to collect. The list for the shipped rules is stored, so that the rules load while ncu runs."""
    from ncuview.engine.rule_packs import has_packs

    if rules is None and not has_packs():
        from ncuview.engine.shipped_plan import shipped_plan

        return shipped_plan()
    from ncuview.engine.plan import metrics_for
    from ncuview.engine.rule_file import load_rules

    return metrics_for(load_rules() if rules is None else rules)


def profile_program(
    target: Target,
    metrics: Sequence[str],
    options: NcuOptions | None = None,
    *,
    export: Path | None = None,
    timeout_s: float = math.inf,
    no_progress_s: float | None = None,
    progress: Callable[[Progress], object] | None = None,
    variables: Mapping[str, str] | None = None,
    instructions: bool = True,
    ended: Callable[[], object] = lambda: None,
) -> tuple[Profile, Profiled]:
    """Run a program or a Python function under ncu, and return the launches of its reports and how the run ended.

    See ``profiling.program.run_program`` for the arguments, and ``read_with_sources`` for ``instructions``. ``ended``
    is called once the program has ended without error, before its reports are read.

    Raises:
        NcuviewError: No launch was profiled, or no report can be read.
    """
    from ncuview.profiling.callable import program_of
    from ncuview.profiling.options import NcuOptions
    from ncuview.profiling.program import run_program
    from ncuview.reader.precheck import launches_in

    with _ReaderAhead(with_code=instructions) as ahead, tempfile.TemporaryDirectory(prefix="ncuview-") as folder:
        program, chosen = program_of(target, options or NcuOptions(), Path(folder))
        made = run_program(
            program,
            metrics,
            Path(folder),
            chosen,
            launches_in=launches_in,
            export=export,
            timeout_s=timeout_s,
            no_progress_s=no_progress_s,
            progress=progress,
            variables=variables,
            meanwhile=ahead.start,
        )
        if not made.failure:
            ended()
        try:
            found = read_with_sources(
                made.reports, source_folders=chosen.source_folders, ahead=ahead.child, instructions=instructions
            )
        except ReportError as unreadable:
            raise made.failure or unreadable from unreadable
        return replace(found, failure=failure_of(made.failure)) if made.failure else found, made


def profile_launches(
    launches: Sequence[Launch],
    metrics: Sequence[str],
    options: NcuOptions | None = None,
    progress: Callable[[Progress], object] | None = None,
    compiled: Mapping[str, Compiled] | None = None,
) -> Profile:
    """Run launches of the catalogue, or of a user's kernel file, under ncu.

    See ``catalogue.live.profile_live`` for the arguments.

    Raises:
        NcuviewError: A launch failed, computed a wrong result, or cannot be read.
    """
    from ncuview.catalogue.live import profile_live
    from ncuview.reader.host_times import with_host_times_of

    with _ReaderAhead() as ahead, tempfile.TemporaryDirectory(prefix="ncuview-") as folder:
        report = profile_live(launches, metrics, Path(folder), progress, options, ahead.start, compiled)
        return with_host_times_of(read_with_sources([report], ahead=ahead.child), report)


def read_with_sources(
    paths: Sequence[str | Path],
    kernel_name: str = "",
    source_folders: Sequence[Path] = (),
    ahead: PrestartedChildren | None = None,
    *,
    instructions: bool = True,
    meanwhile: Callable[[], object] | None = None,
) -> Profile:
    """The launches of reports, with call stacks, inlined calls, control codes and the sources on this machine.

    With ``instructions=False`` neither code nor sources are read. ``meanwhile`` is called while the reader processes
    read.

    Raises:
        ReportError: A report is unreadable, damaged or empty.
    """
    from ncuview.base.report_files import report_files
    from ncuview.reader.reader import read

    found = read(report_files(paths), kernel_name, ahead, instructions=instructions, meanwhile=meanwhile)
    return _with_sources(found, source_folders, instructions=instructions)


def read_each_with_sources(reports: Sequence[Path]) -> Iterator[Profile | ReportError]:
    """Each report as ``read_with_sources`` gives or refuses it alone, by one reader process at a time."""
    from ncuview.reader.reader import read_each

    for found in read_each(reports):
        try:
            yield found if isinstance(found, ReportError) else _with_sources(found)
        except ReportError as error:
            yield error


def _with_sources(profile: Profile, folders: Sequence[Path] = (), *, instructions: bool = True) -> Profile:
    from ncuview.reader.call_stacks import with_call_stacks
    from ncuview.reader.control_codes import with_control_codes
    from ncuview.reader.inlining import with_call_sites
    from ncuview.reader.source import with_local_sources

    found = with_call_stacks(profile)
    if not instructions:
        return found
    return with_local_sources(with_control_codes(with_call_sites(found)), folders)


def early_reader(kernel_name: str = "") -> closing[PrestartedChildren]:
    """A reader process that starts now, while this one imports what reading takes."""
    return closing(PrestartedChildren(kernel=kernel_name, rehearse=False))


class _ReaderAhead:
    """The reader process, started while ncu runs: its start takes longer than reading most reports, and ncu longer."""

    def __init__(self, *, with_code: bool = True) -> None:
        self.child: PrestartedChildren | None = None
        self._with_code = with_code
        self._prepared = Thread(target=prepare, name="prepare")

    def start(self) -> None:
        """Start the reader, unless an earlier attempt did."""
        if self.child is None:
            self.child = PrestartedChildren(with_code=self._with_code)
            self._prepared.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.child:
            self.child.close()
            self._prepared.join()  # Python must not exit while it imports


def prepare() -> None:
    """Load what judges and shows a profile."""
    for name in _NEEDED_LATER:
        import_module(name)
    from ncuview.engine.rule_file import shipped_rules

    shipped_rules()
