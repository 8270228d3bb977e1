"""``ncuview rules`` lists rules or their metrics, ``rules check DIR`` tests rule files, ``explain WORD`` prints a page.

Its functions ``rules``, ``check_rules`` and ``explain`` are the typer commands.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ncuview.base.errors import RuleFileError
from ncuview.cli.completion import rule_and_optimization_names
from ncuview.cli.inputs import RulesOption, SelectOption
from ncuview.cli.outputs import ListFormat, ListFormatOption
from ncuview.cli.printing import print_text, width


def rules(
    context: typer.Context,
    folder: RulesOption = None,
    to: ListFormatOption = ListFormat.TERMINAL,
    only_metrics: Annotated[
        bool, typer.Option("--metrics", help="Print the metrics that the rules need, for ncu --metrics.")
    ] = False,
) -> None:
    """List the rules; those about the calls of a program are last."""
    if context.invoked_subcommand:
        return
    from ncuview.api import load_rules
    from ncuview.engine.plan import metrics_for
    from ncuview.programs.rule_file import program_rules
    from ncuview.render.lists import rules_json, rules_page

    loaded = load_rules(folder or ())
    if only_metrics:
        print_text(",".join(metrics_for(loaded)) + "\n")
        return
    of_programs = program_rules()
    print_text(rules_json(loaded, of_programs) if to is ListFormat.JSON else rules_page(loaded, of_programs, width()))


def check_rules(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with rules, <category>/<CODE>-<name>.toml.")],
    select: SelectOption = None,
) -> None:
    """Check the rules of a folder on recorded launches: their examples, and what a shipped rule must show.

    Wrong rules are printed last.
    """
    from ncuview.engine.plan import choose_rules
    from ncuview.engine.rule_file import rules_below
    from ncuview.pipeline.rule_checks import check_rules as checks_of

    checks = checks_of(choose_rules(rules_below([folder]), select or ()))
    for check in sorted(checks, key=lambda check: bool(check.wrong)):
        text = check.rule.text
        result = "wrong" if check.wrong else f"{text.status}, {len(text.example)} examples hold"
        print_text(f"{text.code}  {text.name}: {result}\n")
        for each in check.wrong:
            print_text(f"    {each}\n")
        for each in check.to_ship:
            print_text(f"    to ship: {each}\n")
        for each in check.notes:
            print_text(f"    note: {each}\n")
    if wrong := sum(bool(check.wrong) for check in checks):
        raise RuleFileError(f"{wrong} of {len(checks)} rules are wrong")


def explain(
    rule: Annotated[
        str,
        typer.Argument(
            metavar="RULE",
            help="A rule's code or name: SMEM001, shared-bank-conflict; or an optimization: coalescing.",
            autocompletion=rule_and_optimization_names,
        ),
    ],
    folder: RulesOption = None,
) -> None:
    """Explain a rule: what it measures, why it matters, the change before and after, and its sources.

    Of an optimization it lists the rules that advise it, and kernels before and after it.
    """
    from ncuview.api import load_rules
    from ncuview.render.explanation import rule_words

    print_text(rule_words(rule, load_rules(folder or ()), width()))
