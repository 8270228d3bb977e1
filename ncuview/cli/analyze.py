"""``ncuview analyze``: diagnoses reports, catalogue kernels, .cu and Python files, or programs, and prints the advice.

It has options for outputs, sampling, a dry run, a run without counters, a ranking (``--top``) and patches (``--diff``).

``cli.inputs`` has the options that it shares with ``check``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated

from ncuview.base.errors import ReportError, UsageError
from ncuview.base.paths import current_repository
from ncuview.cli.inputs import Inputs, option, takes_inputs
from ncuview.cli.outputs import (
    FormatOption,
    OutputOption,
    SourceRootOption,
    destinations,
    errors_written,
    exit_with,
    write_answer,
)
from ncuview.cli.printing import ProgressDisplay, print_error, print_note, print_text, print_unchanged
from ncuview.cli.without_counters import report_without_counters
from ncuview.records.diagnosis import Finding
from ncuview.render.text import safe_page

if TYPE_CHECKING:
    from ncuview.engine.rule_file import Rule
    from ncuview.pipeline.examine import Examined
    from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis, SourceEdit


_SHOW_PROFILE = {"html"}
"""Formats that show more than the diagnosis: all source lines. For them the report is read again."""
_SHOW_RULES = {"sarif"}
"""Formats that describe the rules."""


class Look(StrEnum):
    """How thoroughly a program is profiled."""

    FULL = "full"
    QUICK = "quick"


@takes_inputs
def analyze(
    inputs: Inputs,
    to: FormatOption = "terminal",
    output: OutputOption = None,
    source_root: SourceRootOption = None,
    look: Annotated[Look, option("quick: sample a program of many launches first.", "--look")] = Look.FULL,
    dry_run: Annotated[bool, option("Print ncu's command, its passes and time, and run nothing.", "--dry-run")] = False,
    no_counters: Annotated[
        bool, option("Never start ncu: times, machine code and recorded profiles.", "--no-counters")
    ] = False,
    top: Annotated[
        int | None, option("Rank kernels by the time that their advice saves; list N, each in full.", "--top")
    ] = None,
    diff_only: Annotated[bool, option("Print the changes of your source as patches for git apply.", "--diff")] = False,
    no_cache: Annotated[bool, option("Judge again, and keep no diagnosis for the next run.", "--no-cache")] = False,
) -> None:
    """Name what to change next in a kernel: from a live run, its recorded profile, or any report."""
    files = destinations(to, output)
    if top is not None and top < 0:
        raise UsageError("--top takes a number of kernels")
    quick = look is Look.QUICK
    inputs.refuse_conflicting_options()
    if quick and inputs.export:
        raise UsageError("--export keeps the report of a program that is profiled in one run")
    if quick and not inputs.runs_program:
        raise UsageError("--look quick samples the launches of a program", hint="Leave it out for reports and kernels.")
    if no_counters:
        report_without_counters(inputs, to, files)
        return
    if dry_run:
        _forecast(inputs, inputs.chosen_rules(), quick=quick)
        return
    of_catalogue = False
    forms = {to, *(form for form, _ in files)}
    entry = None if no_cache or quick or diff_only else inputs.cache_entry()
    diagnosis = entry.read() if entry and not forms & _SHOW_PROFILE else None
    if entry and diagnosis:
        rules = inputs.chosen_rules() if forms & _SHOW_RULES else None
        profile = None
    else:
        rules = inputs.chosen_rules()
        with errors_written(inputs, to, files), ProgressDisplay() as progress:
            if quick:
                from ncuview.pipeline.sampled import analyze_sampled

                diagnosis = analyze_sampled(
                    inputs.command,
                    rules,
                    inputs.options,
                    timeout_s=inputs.timeout,
                    no_progress_s=inputs.no_progress_timeout,
                    progress=progress.show,
                )
                profile = None  # there are two profiles, and each holds some of the launches
            else:
                examined = inputs.examine(rules, progress.show)
                profile, of_catalogue = examined.profile, examined.shipped_sources is not None
                diagnosis = _with_patches(examined, inputs) if diff_only else examined.diagnosis
                if entry:
                    entry.write(examined, rules)
    if diff_only:
        missing = _print_patches(diagnosis, of_catalogue=of_catalogue)
        exit_with(diagnosis.failure, code=ReportError.exit_code if missing else 0)
        return
    write_answer(diagnosis, to, files, top=top, rules=rules, source_root=source_root, profile=profile)
    exit_with(diagnosis.failure)


def _with_patches(examined: Examined, inputs: Inputs) -> Diagnosis:
    from ncuview.pipeline.examine import with_patches

    return with_patches(examined, inputs.options.source_folders)


def _forecast(inputs: Inputs, rules: tuple[Rule, ...] | None, *, quick: bool) -> None:
    """Print ncu's command and its estimated cost."""
    if not inputs.runs_program and inputs.suffix != ".cu":
        raise UsageError("--dry-run is for programs, Python and .cu files")
    from ncuview.catalogue.live import host_command
    from ncuview.pipeline.sampled import forecast_of

    launcher = host_command(Path("job.json"), Path("result.json"))
    runs_as = inputs.command if inputs.runs_program else launcher
    print_text(safe_page(str(forecast_of(runs_as, rules, inputs.options, quick=quick, export=inputs.export))))
    if runs_as is launcher:
        print_text("ncuview writes job.json, and reads result.json, in a temporary folder of each run\n")


def _print_patches(diagnosis: Diagnosis, *, of_catalogue: bool) -> bool:
    """Print each change of the user's source once; on stderr, the reason where a kernel has none.

    Returns:
        Whether there is advice, and no change for any of it.
    """
    advised = [(launch, finding.edit) for launch in diagnosis.launches for finding in launch.findings[:1]]
    patches = dict.fromkeys(edit.diff for _, edit in advised if edit and edit.diff)
    for patch in patches:
        print_unchanged(_from_root(patch))
    if outside := _outside_this_folder(patches):
        print_error(*outside)
    without = ((launch, edit) for launch, edit in advised if not (edit and edit.diff))
    reasons = dict.fromkeys(_why_no_patch(launch, edit, of_catalogue=of_catalogue) for launch, edit in without)
    hints = [hint for _, hint in reasons]
    for at, (message, hint) in enumerate(reasons):
        print_error(message, hint if hint not in hints[at + 1 :] else "")
    if not advised:
        print_note(f"ncuview: there is nothing to change: {_verdicts(diagnosis)}")
    return bool(advised) and not patches


def _verdicts(diagnosis: Diagnosis) -> str:
    """Why launches have no advice: the verdict, with the number of launches where there are several."""
    counts = Counter({"near-peak": "near its peak"}.get(each.verdict, each.verdict) for each in diagnosis.launches)
    if diagnosis.launches[1:]:
        return ", ".join(f"{verdict} {count}" for verdict, count in counts.items())
    return "".join(counts)


def _from_root(patch: str) -> str:
    """The patch with git's header; without it, ``git apply`` takes names as relative to the current folder."""
    before, after = (line[4:].rstrip("\t") for line in patch.split("\n")[:2])
    return f"diff --git {before} {after}\n{patch}"


def _outside_this_folder(patches: Iterable[str]) -> tuple[str, str] | None:
    """A warning and a hint where ``git apply`` would skip a patch here, since its file is not below this folder."""
    here = Path.cwd()
    root = current_repository() or here
    below = here.relative_to(root).parts
    headers = (patch.split("\n")[1].rstrip("\t") for patch in patches)
    changed = [PurePosixPath(each.removeprefix("+++ b/")) for each in headers if not each.endswith('"')]
    if all(file.parts[: len(below)] == below for file in changed):
        return None
    return "git apply skips files that are not below this folder", f"Run it in {root}."


def _why_no_patch(launch: LaunchDiagnosis, edit: SourceEdit | None, *, of_catalogue: bool) -> tuple[str, str]:
    """The reason and a hint."""
    if edit:
        return f"{launch.kernel}: {edit.reason}", ""
    if not any(isinstance(each, Finding) and each.where for each in launch.outcomes):
        return (
            f"{launch.kernel}: no source line is known for {launch.findings[0].optimization}",
            "Programs compiled with nvcc -lineinfo have lines, where the advice is about one.",
        )
    if of_catalogue:
        return f"{launch.kernel}: a kernel of the catalogue, not your source", ""
    return f"{launch.kernel}: its source is not on this machine", "--source-folders names where to look."
