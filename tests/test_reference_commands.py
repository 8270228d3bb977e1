"""Commands that print what ships: kernels, rules, metrics, quantities, help and the version."""

from __future__ import annotations

import re

import pytest

from ncuview import __version__
from ncuview.base.paths import shipped
from ncuview.metrics.names import OF_INSTRUCTIONS
from ncuview.metrics.quantities import QUANTITIES
from tests.command_line import assert_failed, ncuview


@pytest.mark.parametrize(
    ("command", "version", "member"), [("kernels", 1, "transposeCoalesced"), ("rules", 2, "shared-bank-conflict")]
)
def test_lists_are_for_people_and_for_programs(command: str, version: int, member: str) -> None:
    page, document = ncuview(command), ncuview(command, "--format", "json")
    assert (page.code, page.err, document.code, document.err) == (0, "", 0, "")
    assert member in page.out
    assert document.document["schema"] == f"ncuview.{command}/{version}"
    names = [entry["name"] for entry in document.document[command]]
    assert member in names
    assert all(name in page.out for name in names)


def test_the_shipped_rules_are_right() -> None:
    ended = ncuview("rules", "check", shipped("rules"))
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    rules = [
        line for line in lines if re.fullmatch(r"[A-Z]+\d{3}  [a-z0-9-]+: (shipped|draft), \d+ examples hold", line)
    ]
    assert len(rules) == len(list(shipped("rules").glob("*/*.toml"))) - len(
        list(shipped("rules").glob("program/*.toml"))
    )
    assert all(line.startswith("    to ship: ") for line in lines if line not in rules), "of drafts"


def test_a_rule_is_explained_by_code_and_by_name_in_any_case() -> None:
    pages = [ncuview("explain", rule) for rule in ("SMEM001", "shared-bank-conflict", "smem001")]
    assert [(page.code, page.err) for page in pages] == [(0, "")] * 3
    assert pages[0].out.startswith("SMEM001 shared-bank-conflict: shared_memory_padding\n")
    assert len({page.out for page in pages}) == 1


def test_a_metric_of_the_textbooks_is_defined() -> None:
    ended = ncuview("metrics", "gld_efficiency")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("gld_efficiency (nvprof metric)\n")
    assert "Computed from:" in ended.out


def test_all_metrics_are_listed() -> None:
    ended = ncuview("metrics")
    assert (ended.code, ended.err) == (0, "")
    assert len(re.findall(r"^\w+ \(", ended.out, re.MULTILINE)) > 100


def test_a_quantity_of_rules_is_defined_and_a_short_name_too() -> None:
    ended = ncuview("metrics", "load_iterations")
    assert (ended.code, ended.err) == (0, "")
    assert "most_executed_load" in ended.out
    assert "launch__block_size" in ended.out
    assert ncuview("metrics", "l1_load_hit_pct").out.startswith("l1_load_hit_pct: l1tex__")
    assert_failed(ncuview("metrics", "load_iteration"), 2, "load_iterations")


def test_metrics_of_instructions_and_names_that_nvprof_has_too_are_answered() -> None:
    assert ncuview("metrics", "samples_wait").out.startswith(
        "samples_wait: smsp__pcsamp_warps_issue_stalled_wait, of each"
    )
    assert_failed(ncuview("metrics", "sampels_wait"), 2, "samples_wait")
    both = ncuview("metrics", "stall_wait").out
    assert both.startswith("stall_wait (ncuview)\n")
    assert "\n\nstall_wait, a quantity that rules read\n" in both
    assert "is divided by the sum over all 19 reasons" in both


def test_all_quantities_are_listed() -> None:
    ended = ncuview("metrics", "--quantities")
    assert (ended.code, ended.err) == (0, "")
    assert all(f"{name} (" in ended.out or f"{name}:" in ended.out for name in QUANTITIES)
    assert all(f"\n{name}: {metric}" in ended.out for name, metric in OF_INSTRUCTIONS.items())


def test_the_version_is_printed() -> None:
    ended = ncuview("--version")
    assert (ended.code, ended.out, ended.err) == (0, f"ncuview {__version__}\n", "")


HELP = [
    [],
    ["analyze"],
    ["check"],
    ["diff"],
    ["report"],
    ["ladder"],
    ["try"],
    ["calibrate"],
    ["doctor"],
    ["kernels"],
    ["rules"],
    ["rules", "check"],
    ["explain"],
    ["mcp"],
    ["metrics"],
    ["scrub"],
    ["store"],
    ["store", "add"],
    ["store", "top"],
    ["store", "history"],
    ["store", "compare"],
    ["store", "outliers"],
    ["store", "unprofiled"],
    ["store", "sql"],
]


@pytest.mark.parametrize("command", HELP, ids=" ".join)
def test_every_command_has_help(command: list[str]) -> None:
    ended = ncuview(*command, "--help")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("Usage: ")


def test_help_names_every_command() -> None:
    listed = set(re.findall(r"^  (\w+)  ", ncuview("--help").out.partition("Commands:")[2], re.MULTILINE))
    assert listed == {command[0] for command in HELP if command}
