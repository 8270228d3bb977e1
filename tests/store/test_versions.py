"""Stores of each version of the tables are kept here, and read as if they were of this one."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview import store
from ncuview.store.batches import contents_of
from ncuview.store.place import place_of
from ncuview.store.schema import TABLE, VERSION
from ncuview.store.versions import UPGRADES

KEPT = {at: Path(__file__).parent / f"version-{at}" for at in range(1, VERSION + 1)}
"""``ncuview store add kernels/transfers --to tests/store/version-N --label commit=4f2a91c`` of each version."""


def test_each_older_version_has_an_upgrade() -> None:
    assert set(UPGRADES) == set(range(1, VERSION))


@pytest.mark.parametrize("version", KEPT)
def test_a_store_of_each_version_is_read(version: int) -> None:
    (batch,) = contents_of(place_of(str(KEPT[version]))).batches
    assert batch.version == version
    with store.open(KEPT[version]) as opened:
        for name, table in TABLE.items():
            columns = [column.name for column in table.columns]
            assert opened.arrow(name).column_names[: len(columns)] == columns
        assert opened.sql("SELECT kernel, gpu, verdict FROM launches WHERE launch < 2 ORDER BY launch").fetchall() == [
            ("pageableCopies", "NVIDIA H200", "near-peak"),
            ("smallCopies", "NVIDIA H200", "near-peak"),
        ]
        assert opened.sql("SELECT labels['commit'], launches FROM reports").fetchall() == [("4f2a91c", 8)]
        assert opened.sql('SELECT count("gpu__time_duration.sum") FROM metrics').fetchall() == [(8,)]
