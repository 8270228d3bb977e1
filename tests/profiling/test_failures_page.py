"""The page about failures shows the catalogue as it is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ncuview.base import errors
from ncuview.profiling.ncu_failures import Failure, catalogue, failure, note
from tests.together import together

if TYPE_CHECKING:
    import pytest

PAGE = Path(__file__).parents[2] / "docs" / "failures.md"
BEGINNING, END = "<!-- catalogue -->\n", "<!-- end of catalogue -->\n"


def row(found: Failure) -> str:
    code = getattr(errors, found.error).exit_code if found.error else "none"
    cells = [f"**{found.id}**", found.what, found.why, found.fix, str(code)]
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def table() -> str:
    head = ["| name | what happened | usual causes | what to do | exit |", "| --- | --- | --- | --- | ---: |"]
    return "\n".join([*head, *map(row, catalogue())]) + "\n"


def test_the_page_shows_the_catalogue(request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGINNING)
    _, _, after = rest.partition(END)
    expected = f"{before}{BEGINNING}\n{table()}\n{END}{after}"
    if request.config.getoption("--update-golden"):
        PAGE.write_text(expected, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == expected, "pytest --update-golden writes the table"


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
