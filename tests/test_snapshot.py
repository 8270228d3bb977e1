"""The diagnoses of all recorded launches of the catalogue are those of the snapshot; a change is grouped by cause."""

from __future__ import annotations

from collections.abc import Callable

from tests.snapshot import Line, Snapshot, parsed
from tests.snapshot.groups import groups, page

CODES = ("AAA001", "BBB001")


def line(launch: str, *, verdict: str = "unclear", advice: str = "none", outcomes: str = "..", rest: str = "1") -> Line:
    return Line(launch, verdict, "dram", advice, outcomes, rest)


def of(*lines: Line, codes: tuple[str, ...] = CODES) -> Snapshot:
    return Snapshot(codes, lines)


def test_the_catalogue_is_diagnosed_as_before(matches_snapshot: Callable[[str, str], None]) -> None:
    matches_snapshot("catalogue", "snapshot/catalogue.txt")


def test_a_snapshot_is_read_as_it_was_written() -> None:
    snapshot = of(line("a 0 k", advice="AAA001 2.1, BBB001 1.5", outcomes="AA"), line("a 1 k"))
    assert parsed(str(snapshot)) == snapshot


def test_differences_are_grouped_by_what_changed() -> None:
    before = of(
        line("a 0 k", advice="AAA001 2.1", outcomes="A.", verdict="advice"), line("a 1 k"), line("a 2 k"), line("a 3 k")
    )
    after = of(
        line("a 0 k", advice="AAA001 2.3", outcomes="A.", verdict="advice", rest="2"),
        line("a 1 k", outcomes=".s", verdict="not-judged"),
        line("a 2 k", rest="3"),
        line("a 4 k"),
    )
    assert groups(before, after) == {
        "AAA001 predicts another speedup": ["a 0 k (2.1 -> 2.3)"],
        "BBB001 passed -> skipped": ["a 1 k"],
        "bounds, lines or rejected predictions": ["a 2 k"],
        "launch is gone": ["a 3 k"],
        "launch is new": ["a 4 k"],
        "verdict unclear -> not-judged": ["a 1 k"],
    }


def test_both_orders_of_advice_are_named() -> None:
    orders = ("AAA001 2, BBB001 2", "BBB001 2, AAA001 2")
    was, now = (of(line("a 0 k", advice=order, outcomes="AA")) for order in orders)
    assert groups(was, now) == {"order of advice": ["a 0 k (AAA001, BBB001 -> BBB001, AAA001)"]}


def test_rules_that_come_and_go_are_groups_of_their_own() -> None:
    after = of(line("a 0 k", outcomes=".."), codes=("AAA001", "CCC001"))
    assert groups(of(line("a 0 k", outcomes="..")), after) == {
        "BBB001 passed -> no rule": ["a 0 k"],
        "CCC001 no rule -> passed": ["a 0 k"],
    }


def test_the_page_names_the_first_launches_of_a_group() -> None:
    found = {"verdict unclear -> not-judged": [f"a {number} k" for number in range(8)]}
    assert page(found).startswith("    8  verdict unclear -> not-judged: a 0 k, a 1 k")
    assert page(found).endswith("a 5 k and 2 more\n")
    assert page({}) == "no difference\n"
