"""``Served``: the answer of each tool, as the JSON values of a document. Runs in a child process (``worker``).

It calls what the command line calls, and keeps the last diagnosis, which the next request mostly asks for again.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ncuview.base.errors import NeedsAllowRun, UsageError
from ncuview.base.signals import Terminated
from ncuview.mcp_server import documents
from ncuview.mcp_server.pages import Listing, filled, viewed
from ncuview.mcp_server.roots import Roots
from ncuview.records.schema import plain

if TYPE_CHECKING:
    from ncuview.catalogue.user_kernel import LaunchOptions
    from ncuview.engine.rule_file import Rule
    from ncuview.mcp_server.stores import Question
    from ncuview.pipeline.diagnosis_cache import SourceStates
    from ncuview.profiling.options import NcuOptions
    from ncuview.profiling.passes import Bounds, Forecast
    from ncuview.records.diagnosis import Diagnosis
    from ncuview.store.questions import By

Look = Literal["full", "quick", "runs"]
WIDTH = 100
"""Columns of pages."""


class Served:
    """What a client may ask for: files below the roots, and with ``allow_run`` runs of programs."""

    def __init__(self, roots: Roots, rules: Sequence[Path], *, allow_run: bool) -> None:
        self._roots, self._rule_folders, self._allow_run = roots, rules, allow_run
        self._tools: Mapping[str, Callable[..., dict[str, Any]]] = {
            "diagnose": self._diagnose,
            "explain": self._explain,
            "diff": self._diff,
            "plan": self._plan,
            "try": self._try,
            "store": self._store,
        }
        self.trial: dict[str, Any] | None = None
        """All of the trial that the last answer is a part of, where it was run for this answer."""
        self._last: tuple[str, SourceStates, Diagnosis] | None = None

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The document that a tool answers with.

        Raises:
            NcuviewError: As the command line.
        """
        self.trial = None
        return self._tools[tool](**arguments)

    def _rules(self) -> tuple[Rule, ...]:
        from ncuview.api import load_rules

        return load_rules(self._rule_folders)

    def _diagnose(
        self,
        *,
        reports: Sequence[str] | None,
        kernel: str,
        program: Sequence[str] | None,
        kernel_name: str,
        source_folders: Sequence[str],
        look: Look | None,
        launch_count: int | None,
        timeout_s: float,
        view: Literal["skeleton", "launch", "finding"] | None,
        key: str,
        cursor: str,
        max_bytes: int,
    ) -> dict[str, Any]:
        from ncuview.render import views

        if sum(map(bool, (reports, kernel, program))) != 1:
            raise UsageError("diagnose takes one of reports, kernel and program")
        folders = tuple(self._roots.place(folder) for folder in source_folders)
        if program:
            options = self._options(kernel_name, launch_count, folders)
            diagnosis = self._of_program(program, look, options, timeout_s)
        elif look or launch_count:
            raise UsageError("look and launch_count are for programs")
        elif kernel:
            self._roots.place(kernel)  # what is no kernel is looked for among files
            diagnosis = self._kept((kernel,), live=False)
        else:
            files = self._roots.reports(reports or ())
            diagnosis = self._kept(tuple(map(str, files)), kernel_name=kernel_name, folders=folders)
        return viewed(lambda most: views.view(diagnosis, view, key=key, cursor=cursor, max_bytes=most), max_bytes)

    def _kept(
        self, targets: tuple[str, ...], *, live: bool | None = None, kernel_name: str = "", folders: Sequence[Path] = ()
    ) -> Diagnosis:
        """The diagnosis of reports or of a recorded profile: the last one again, where nothing has changed since."""
        from ncuview.pipeline.diagnosis_cache import Request, are_unchanged, name_of, source_states
        from ncuview.pipeline.examine import examine

        name = name_of(Request(targets, live, kernel_name, tuple(folders), tuple(self._rule_folders)))
        if name and self._last and self._last[0] == name and are_unchanged(self._last[1]):
            return self._last[2]
        self._last = None  # two large ones may not fit into memory
        rules = self._rules()
        examined = examine(*targets, rules=rules, live=live, kernel_name=kernel_name, source_folders=folders)
        self._last = (name, source_states(examined, rules), examined.diagnosis)
        return examined.diagnosis

    def _options(self, kernel_name: str, launch_count: int | None, folders: Sequence[Path] = ()) -> NcuOptions:
        from ncuview.profiling.options import NcuOptions

        return NcuOptions(kernel_name=kernel_name, launch_count=launch_count, source_folders=tuple(folders))

    def _of_program(
        self, program: Sequence[str], look: Look | None, options: NcuOptions, timeout_s: float
    ) -> Diagnosis:
        self._require_run("Profile it yourself, or start the server with --allow-run.")
        rules = self._rules() if self._rule_folders else None
        match look or _default_look(program, options):
            case "full":
                from ncuview.pipeline.examine import examine_program

                return examine_program(program, rules, options, timeout_s=timeout_s).diagnosis
            case "quick":
                from ncuview.pipeline.sampled import examine_sample

                return examine_sample(program, rules, options, timeout_s=timeout_s).diagnosis
            case "runs":
                from ncuview.pipeline.program_runs import examine_in_runs

                return examine_in_runs(program, rules, options, timeout_s=timeout_s).diagnosis

    def _require_run(self, hint: str) -> None:
        if not self._allow_run:
            raise NeedsAllowRun("this server starts no program", hint=hint)

    def _explain(self, *, name: str, cursor: str, max_bytes: int) -> dict[str, Any]:
        from ncuview.render.explanation import explanation

        lines = explanation(name, self._rules(), WIDTH).splitlines()

        def document(found: documents.Lines) -> documents.ExplanationDocument:
            return documents.ExplanationDocument("ncuview.explanation/1", name, found)

        return filled(document, [Listing(documents.Lines, f"{name}/lines", lines)], cursor, max_bytes)

    def _diff(
        self,
        *,
        before: str,
        after: str,
        kernel_name: str,
        renamed: Mapping[str, str],
        force: bool,
        key: str,
        cursor: str,
        max_bytes: int,
    ) -> dict[str, Any]:
        from ncuview.api import compare
        from ncuview.mcp_server.changes import changes

        self._roots.reports([before, after])  # no link in a folder may lead out of the roots
        was, now = self._roots.place(before), self._roots.place(after)
        found = compare(was, now, self._rules(), kernel_name, renamed, force=force)
        return changes(found, key=key, cursor=cursor, max_bytes=max_bytes)

    def _plan(
        self, *, program: Sequence[str], kernel_name: str, look: Look | None, launch_count: int | None
    ) -> dict[str, Any]:
        options = self._options(kernel_name, launch_count)
        look = look or _default_look(program, options)
        rules = self._rules() if self._rule_folders else None
        if look == "runs":
            from ncuview.pipeline.program_runs import forecasts_of_runs

            times, counters = forecasts_of_runs(program, options)
            runs = [
                _without_ncu("the program without ncu, for the time between its kernels"),
                _planned("time and calls of each launch", times),
                _planned("counters of one launch of each configuration", counters),
                _without_ncu("all metrics of kernels of your own that are worth it; not run where there are none"),
            ]
            measured = times.where
        else:
            from ncuview.pipeline.sampled import forecast_of

            found = forecast_of(program, rules, options, quick=look == "quick")
            runs, measured = [_planned("all metrics of each launch", found)], found.where
            if look == "quick":
                runs = [
                    _planned("one pass for samples of all launches", found),
                    _without_ncu("further metrics of those that are worth it"),
                ]
        document: dict[str, Any] = plain(documents.PlanDocument("ncuview.plan/1", look, tuple(runs), tuple(measured)))
        return document

    def _try(
        self,
        *,
        target: str,
        program: Sequence[str] | None,
        build: str,
        check: str,
        tree: str,
        kernel_name: str,
        grid: str,
        block: str,
        shared: str,
        args: Sequence[str],
        sizes: Sequence[str],
        budget_s: float,
        dry_run: bool,
        key: str,
        cursor: str,
        max_bytes: int,
        kept: Mapping[str, Any] | None,
    ) -> dict[str, Any]:
        from ncuview.catalogue.user_kernel import LaunchOptions
        from ncuview.mcp_server import trial_parts

        if bool(target) == bool(program):
            raise UsageError("try takes one of target and program")
        words = LaunchOptions(kernel_name, grid, block, shared, tuple(args), tuple(sizes))
        if program and words != LaunchOptions(kernel_name):
            raise UsageError("grid, block, shared, args and sizes are for kernels, not for programs")
        if target and (build or check or tree):
            raise UsageError("build, check and tree are for programs")
        if dry_run:
            kept = self._planned(target, words, program or (), tree)
        elif kept is None:
            if key or cursor:
                raise UsageError(
                    "the trial of this key or cursor is no longer known", hint="Without them it is run once more."
                )
            self._require_run("Run `ncuview try` yourself, start the server with --allow-run, or ask for dry_run.")
            kept = self.trial = self._tried(target, words, program or (), build, check, tree, budget_s)
        return trial_parts.part(kept, key=key, cursor=cursor, max_bytes=max_bytes)

    def _planned(self, target: str, words: LaunchOptions, program: Sequence[str], tree: str) -> dict[str, Any]:
        from ncuview.mcp_server.trial_parts import planned
        from ncuview.pipeline.planned import planned_launch, planned_program
        from ncuview.pipeline.trial_targets import launch_to_try

        if program:
            return planned(planned_program(program, words.kernel, self._tree_of(program, tree)), shlex.join(program))
        launch, _ = launch_to_try(self._file_or_name(target), words)
        return planned(planned_launch(launch), target)

    def _tree_of(self, program: Sequence[str], tree: str) -> Path:
        """The folder of a program's sources, which is below the roots."""
        from ncuview.trial.program_source import placed

        _, copied = placed(program, self._roots.place(tree) if tree else None)
        return self._roots.place(str(copied))

    def _tried(
        self,
        target: str,
        words: LaunchOptions,
        program: Sequence[str],
        build: str,
        check: str,
        tree: str,
        budget_s: float,
    ) -> dict[str, Any]:
        from ncuview.mcp_server.trial_parts import kept_of
        from ncuview.pipeline.trial_targets import launch_to_try
        from ncuview.pipeline.trials import try_launch, try_program

        def say(_: str) -> None:
            """Say nothing: the answer says what was done."""

        if program:
            folder = self._tree_of(program, tree)
            trial = try_program(program, build, check, words.kernel, tree=folder, budget_s=budget_s, say=say)
        else:
            launch, reload = launch_to_try(self._file_or_name(target), words)
            trial = try_launch(launch, reload, target, budget_s=budget_s, say=say)
        if trial.stopped in {"interrupted", "terminated"}:
            raise Terminated  # no one waits for the answer
        return kept_of(trial)

    def _file_or_name(self, target: str) -> str:
        """A .cu file, which is below the roots, or the name of a kernel.

        Raises:
            UsageError: It is outside of the roots, or no file.
        """
        path = self._roots.file(target)
        return str(path) if target.endswith(".cu") else target

    def _store(
        self,
        *,
        store: str,
        question: Question,
        kernel: str,
        by: By | None,
        limit: int,
        key: str,
        cursor: str,
        max_bytes: int,
    ) -> dict[str, Any]:
        from ncuview.mcp_server.stores import asked

        place = str(self._roots.folder(store))
        return asked(place, question, kernel=kernel, by=by, limit=limit, key=key, cursor=cursor, max_bytes=max_bytes)


def _default_look(program: Sequence[str], options: NcuOptions) -> Look:
    """``runs`` for a Python program of which no launch is left out."""
    from ncuview.profiling.python_hook import is_python

    whole = not set(options.chosen_by()) - {"--profile-from-start"}
    return "runs" if whole and (program[0].endswith(".py") or is_python(program[0])) else "full"


def _planned(what: str, run: Forecast) -> documents.PlannedRun:
    passes = documents.Range(run.passes.low, run.passes.high)
    seconds = _range(run.seconds) if run.seconds else None
    return documents.PlannedRun(
        what, run.command, run.metrics, passes, _range(run.start_s), _range(run.launch_s), seconds
    )


def _without_ncu(what: str) -> documents.PlannedRun:
    return documents.PlannedRun(what, None, None, None, None, None, None)


def _range(bounds: Bounds) -> documents.Range:
    return documents.Range(*(float(f"{each:.4g}") for each in (bounds.low, bounds.high)))
