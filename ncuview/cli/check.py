"""``ncuview check``: checks kernels against a budget and a baseline, and saves baselines; the gate is the exit code.

Exit codes of a gate: 0 open, 1 closed, 3 a value is missing, 4 inconclusive or not comparable.

Further codes are those of errors. ``--check-budget-only`` only validates budget files.
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ncuview.base.errors import BaselineMissing, BudgetError, NotComparable, UsageError
from ncuview.base.suggestion import did_you_mean_file
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
from ncuview.cli.printing import ProgressDisplay, print_error, print_note, print_written

if TYPE_CHECKING:
    from ncuview.engine.rule_file import Rule
    from ncuview.gate.baseline import Baseline
    from ncuview.gate.budget import Budget
    from ncuview.gate.chosen import Chosen
    from ncuview.pipeline.examine import Examined
    from ncuview.records.gate import Gate


class FailOn(StrEnum):
    """The lowest level whose failures close the gate."""

    WARN = "warn"
    ERROR = "error"
    OFF = "off"


class OnMissing(StrEnum):
    """The result of a check whose value is missing."""

    FAIL = "fail"
    SKIP = "skip"


@takes_inputs
def check(
    inputs: Inputs,
    budget: Annotated[Path | None, option("The limits, as TOML, or a pyproject.toml.", "--budget")] = None,
    baseline: Annotated[
        str | None,
        option("An earlier measurement to compare with: a file, or STORE or STORE@POINT.", "--baseline", value="PATH"),
    ] = None,
    save: Annotated[Path | None, option("Save the measurement as a baseline.", "--save-baseline")] = None,
    allow_missing: Annotated[
        bool, option("Continue where there is no baseline yet.", "--allow-missing-baseline")
    ] = False,
    force: Annotated[bool, option("Compare what was profiled differently.", "--force")] = False,
    fail_on: Annotated[FailOn, option("The least level whose failures close the gate.", "--fail-on")] = FailOn.ERROR,
    missing: Annotated[
        OnMissing | None, option("Fail or skip checks without a value. Default: exit with 3.", "--on-missing")
    ] = None,
    exit_zero: Annotated[bool, option("Exit with 0 whatever the result of the gate.", "--exit-zero")] = False,
    only_budget: Annotated[
        bool, option("Only check the budget files: --budget, and each TARGET.", "--check-budget-only")
    ] = False,
    to: FormatOption = "terminal",
    output: OutputOption = None,
    source_root: SourceRootOption = None,
) -> None:
    """Check kernels against a budget and a baseline: 0 where the gate is open, 1 where it is closed."""
    from ncuview.gate.baseline import few_repeats
    from ncuview.gate.verdict import exit_code, on_missing
    from ncuview.pipeline import gates

    files = destinations(to, output)
    if only_budget:
        _check_budgets([*([budget] if budget else []), *map(Path, inputs.named)], inputs.chosen_rules())
        return
    if not (budget or baseline or save):
        raise UsageError("there is nothing to check against", hint="Give --budget, --baseline or --save-baseline.")
    if save and not save.parent.is_dir():
        raise UsageError(f"{save} cannot be written", hint=did_you_mean_file(save.parent, "Name a folder that exists."))
    inputs.refuse_conflicting_options()
    inputs.refuse_bare_run_option()
    with errors_written(inputs, to, files):
        rules = inputs.chosen_rules()
        allowed = _read_budget(budget, rules) if budget else None
        if allowed and not allowed.entries and not (baseline or save):
            raise UsageError(f"{budget} only sets how a baseline is compared", hint="Give --baseline.")
        store = baseline if baseline and gates.names_store(baseline) else None
        before = None if store else _baseline(baseline)
        with ProgressDisplay() as progress:
            examined = inputs.examine(rules, progress.show)
        before = before or _of_store(store, examined)
        chosen = inputs.chosen_launches()
        gate, refused = _gate(examined, allowed, before, fail_on, chosen, allow_missing=allow_missing, force=force)
        if refused and to != "terminal":  # whose page has a check of it
            print_error(str(refused), refused.hint)
        gate = on_missing(gate, missing.value) if missing else gate
        code, failure = exit_code(gate), examined.diagnosis.failure
        saved = save if not failure and (code == 0 or exit_zero) else None
        kept, copies = gates.save_as_baseline(examined, saved) if saved else (None, ())  # before any output: may fail
    write_answer(
        examined.diagnosis,
        to,
        files,
        gate=gate,
        rules=rules,
        source_root=source_root,
        profile=examined.profile,
    )
    if saved and kept:
        count = len(kept.kernels)
        print_written(saved, f"a baseline of {count:,} {'kernel' if count == 1 else 'kernels'}")
        for copy in copies:
            print_error(f"{copy} is a copy of another report and was not counted")
        if note := few_repeats(kept):
            print_note(f"ncuview: {saved}: {note}")
    elif save and failure:
        print_error(f"{save} was not written: the profile is incomplete")
    elif save:
        print_error(f"{save} was not written: the gate did not pass", "Without --baseline and --budget it is written.")
    exit_with(failure, code=0 if exit_zero else code)


def _check_budgets(files: list[Path], rules: tuple[Rule, ...] | None) -> None:
    """Check budget files and report the errors of all of them."""
    if not files:
        raise UsageError("there is no budget file to check", hint="Name one or more.")
    wrong = []
    for file in files:
        try:
            budget = _read_budget(file, rules)
        except BudgetError as error:
            wrong.append(error)
        else:
            count = len(budget.entries)
            print_note(f"{file}: {count} {'budget' if count == 1 else 'budgets'}")
    for each in wrong[:-1]:
        print_error(str(each), each.hint)
    if wrong:
        raise wrong[-1]


def _read_budget(path: Path, rules: tuple[Rule, ...] | None) -> Budget:
    """The budget in a file; its outdated keys are reported on standard error."""
    from ncuview.gate.budget import read_budget

    def evaluated() -> list[tuple[str, str]]:
        from ncuview.api import load_rules

        return [(rule.text.code, rule.text.name) for rule in (load_rules() if rules is None else rules)]

    budget = read_budget(path, evaluated)
    for note in budget.notes:
        print_error(note)
    return budget


def _baseline(name: str | None) -> tuple[str, Baseline | NotComparable] | None:
    """The name and the content of a baseline file; that it is missing is reported after errors of the reports."""
    if name is None:
        return None
    from ncuview.gate.baseline import read_baseline

    path = Path(name)
    try:
        return str(path), read_baseline(path)
    except BaselineMissing as missing:
        return str(path), missing


def _of_store(name: str | None, examined: Examined) -> tuple[str, Baseline | NotComparable] | None:
    """The name of a store and what it holds of the checked kernels, or why nothing of it is compared."""
    from ncuview.pipeline import gates

    if name is None:
        return None
    try:
        return name, gates.baseline_of_store(name, examined)
    except NotComparable as failure:
        return name, failure


def _gate(
    examined: Examined,
    budget: Budget | None,
    baseline: tuple[str, Baseline | NotComparable] | None,
    fail_on: FailOn,
    chosen: Chosen,
    *,
    allow_missing: bool,
    force: bool,
) -> tuple[Gate, NotComparable | None]:
    """The gate, and why the baseline was not compared; the checks of the budget are still reported then."""
    from ncuview.gate.judge import not_compared
    from ncuview.pipeline import gates

    if baseline is None:
        return gates.check(examined, budget, fail_on=fail_on.value, chosen=chosen), None
    name, before = baseline
    try:
        if isinstance(before, NotComparable):
            raise before
        compared = gates.check(examined, budget, (name, before), fail_on=fail_on.value, force=force, chosen=chosen)
    except NotComparable as failure:
        alone = gates.check(examined, budget, fail_on=fail_on.value, chosen=chosen)
        if isinstance(failure, BaselineMissing) and allow_missing:
            return replace(alone, remark=f"{failure}, so that nothing was compared"), None
        return not_compared(alone, name, failure), failure
    return compared, None
