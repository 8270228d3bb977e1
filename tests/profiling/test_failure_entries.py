"""Every entry of the catalogue of failures says what to do."""

from __future__ import annotations

from ncuview.base import errors
from ncuview.profiling.ncu_failures import Failure, catalogue, failure, note
from tests.together import together


@together("found", catalogue(), name=lambda found: f"{found.id} {found.kind}")
def test_every_entry_says_what_to_do(found: Failure) -> None:
    assert found.id.startswith("NCU-")
    assert found.what
    assert found.fix
    assert (found.kind == "note") == (not found.error)
    assert found.kind in {"ours", "note"} or found.texts
    assert found == failure(found.id) or found.kind == "symptom"
    if found.error:
        error = found.as_error()
        assert isinstance(error, errors.NcuviewError)
        assert (error.id, error.exit_code in {2, 3, 5, 6}, error.hint) == (found.id, True, found.fix)


def test_a_note_says_its_numbers() -> None:
    assert note("NCU-JIT", launches="201", size="3 MB").what == "201 launches were profiled, 3 MB of reports"
