"""The pages of ``ncuview metrics``: complete, honest about gaps, and no wider than asked."""

from __future__ import annotations

import pytest

from ncuview.metrics.textbook import TextbookDefinition, definition, definitions
from ncuview.render.metric_page import metric_list, metric_page
from tests.together import together

ALL = list(definitions().values())


@together("each", ALL, name=lambda each: each.name)
def test_a_page_has_all_that_is_known(each: TextbookDefinition) -> None:
    page = " ".join(metric_page(each, width=80).split())
    assert page.startswith(each.name)
    for part in (each.definition, each.unit, *each.expressions, each.documented_expression, each.notes):
        assert " ".join(part.split()) in page


@pytest.mark.parametrize("width", [60, 100])
def test_only_unbreakable_names_are_wider(width: int) -> None:
    lines = [line for each in ALL for line in (metric_page(each, width) + metric_list([each], width)).splitlines()]
    assert all(len(line) <= width or " " not in line.strip() for line in lines)


@pytest.mark.parametrize("name", ["cf_issued", "effective_bandwidth"])
def test_a_metric_without_equivalent_says_so_at_once(name: str) -> None:
    assert metric_page(definition(name)).splitlines()[1] == "No equivalent in Nsight Compute."


def test_alternatives_stand_in_the_order_in_which_they_are_tried() -> None:
    each = definition("gld_transactions_per_request")
    first, *others = metric_page(each, width=300).split("or, where that was not collected:\n")
    assert first.rstrip().endswith(each.expressions[0])
    assert [other.splitlines()[0].strip() for other in others] == list(each.expressions[1:])


def test_nvidia_s_table_is_quoted_only_where_it_says_something_else() -> None:
    says = "NVIDIA's table of equivalents gives:\n    "
    assert f"{says}smsp__inst_executed.avg.per_cycle_active\n" in metric_page(definition("ipc"))
    assert f"{says}n/a\n" in metric_page(definition("inst_replay_overhead"))
    assert says not in metric_page(definition("dram_read_bytes"))
    assert says not in metric_page(definition("shared_bank_conflict_ways"))


def test_the_list_has_a_line_for_each_metric_and_marks_the_gaps() -> None:
    lines = metric_list(ALL, width=300).splitlines()
    assert len(lines) == len(ALL)
    assert "gld_efficiency (%): Share of the bytes moved by global loads that threads requested." in lines
    assert sum("no equivalent)" in line for line in lines) == sum(not each.expressions for each in ALL)
