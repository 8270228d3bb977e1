"""The oracle of the occupancy family against a plain loop."""

from __future__ import annotations

import numpy as np

from ncuview.catalogue.reference import ORACLES, Array, Problem

RECORDS = 8


def chained(table: Array, warps: int, steps: int) -> Array:
    return ORACLES["chained_records"](Problem((table,), (32 * warps,), "uint32", {"records": RECORDS, "steps": steps}))


def records() -> Array:
    return np.random.default_rng(7).integers(0, 1 << 32, (RECORDS, 32), dtype=np.uint32)


def test_warps_follow_a_chain_of_records() -> None:
    table, want = records(), []
    for warp in range(5):
        at, total = warp, [0] * 32
        for step in range(11):
            record = table[at % RECORDS].tolist()
            total = [(have + word * 31**step) % (1 << 32) for have, word in zip(total, record, strict=True)]
            at = (record[0] + warp) % (1 << 32)
        want += total
    assert chained(table, 5, 11).tolist() == want


def test_a_word_weighted_at_the_end_weighs_as_much() -> None:
    """The kernels that keep all words work from the last one back."""
    table, warp = records(), 3
    at, words = warp, []
    for _ in range(6):
        words.append(int(table[at % RECORDS, 9]))
        at = (int(table[at % RECORDS, 0]) + warp) % (1 << 32)
    total = 0
    for word in reversed(words):
        total = (total * 31 + word) % (1 << 32)
    assert chained(table, 4, 6)[32 * warp + 9] == total


def test_the_table_stays_as_it_was() -> None:
    table = records()
    before = table.copy()
    chained(table, 5, 11)
    np.testing.assert_array_equal(table, before)
