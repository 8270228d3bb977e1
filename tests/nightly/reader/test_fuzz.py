"""The files of fuzz/fuzz_reports.py are what they claim to be; tests/nightly has some of them read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fuzz.fuzz_reports import CHANGES, REFUSED_ALWAYS, Ended, changed, outcome, seeds
from ncuview.base.errors import ReportError
from ncuview.reader.precheck import precheck

DOCUMENT: dict[str, Any] = {"reports": [], "launches": [{"name": "a"}, {"name": "b"}], "error": None}


def test_every_file_can_be_made_again_and_differs_from_the_others() -> None:
    files = [changed(number, 3) for number in range(2 * len(CHANGES))]
    assert files == [changed(number, 3) for number in range(2 * len(CHANGES))]
    assert [kind for kind, _, _ in files] == 2 * list(CHANGES)
    assert len({data for _, _, data in files}) == len(files)
    assert all(data != seeds()[place].data for _, place, data in files)


@pytest.mark.parametrize("kind", REFUSED_ALWAYS)
def test_reports_that_must_be_refused_are_not_complete(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "x.ncu-rep"
    for number in range(40):
        path.write_bytes(changed(number, 1, kind)[2])
        with pytest.raises(ReportError):
            precheck(path)


@pytest.mark.parametrize("kind", [kind for kind in CHANGES if kind.startswith("cubin")])
def test_only_cubins_are_changed_where_it_says_so(kind: str) -> None:
    for number in range(20):
        _, place, data = changed(number, 1, kind)
        seed = seeds()[place]
        assert len(data) == len(seed.data)
        places = [at for at, (old, new) in enumerate(zip(seed.data, data, strict=True)) if old != new]
        assert any(cubin.start <= places[0] <= places[-1] < cubin.end for cubin in seed.cubins)


def ended(code: int = 0, document: dict[str, Any] | None = None, said: str = "", seconds: float = 1.0) -> Ended:
    return Ended(code, seconds, said, DOCUMENT if document is None else document)


@pytest.mark.parametrize(
    ("kind", "how", "expected"),
    [
        ("1 bit", ended(), "same"),
        ("1 bit", ended(document={**DOCUMENT, "reports": [{"path": "x"}]}), "same"),
        ("1 bit", ended(document={**DOCUMENT, "error": "other"}), "altered"),
        ("1 bit", ended(3), "partial"),
        ("1 bit", ended(3, {"launches": []}), "refused"),
        ("1 bit", ended(document={**DOCUMENT, "launches": DOCUMENT["launches"][:1]}), "broken"),
        ("cut anywhere", ended(), "broken"),
        ("1 bit", ended(70), "broken"),
        ("1 bit", ended(-11), "broken"),
        ("1 bit", ended(3, said="Traceback (most recent call last):\n"), "broken"),
        ("1 bit", ended(3, seconds=31), "broken"),
        ("1 bit", Ended(3, 1, "", None), "broken"),
    ],
)
def test_a_result_that_breaks_the_expectation_is_found(kind: str, how: Ended, expected: str) -> None:
    found, broken = outcome(kind, how, json.loads(json.dumps(DOCUMENT)))
    assert found == expected
    assert bool(broken) == (expected == "broken")
