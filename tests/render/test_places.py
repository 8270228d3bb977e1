"""How a page shows places: code once, hot lines marked, callers, remarks, and instructions without lines."""

from __future__ import annotations

from dataclasses import replace

import pytest
from rich.cells import cell_len

from ncuview.records.diagnosis import Awaited, CodeLine, Diagnosis, HotInstruction, SourceLine
from ncuview.records.profile import CallSite
from ncuview.render import render
from ncuview.render.words import shown_file
from tests.render.sample import advice_finding, awaited_load, launch_with_advice


def line(number: int, share: float = 0.5, file: str = "a.cu", context: int = 1, indent: int = 4) -> SourceLine:
    around = tuple(
        CodeLine(each, " " * indent + f"code {each};") for each in range(number - context, number + context + 1)
    )
    return SourceLine(file, number, share, f"code {number};", around)


def page(
    *where: SourceLine,
    instructions: tuple[HotInstruction, ...] = (),
    lines_wanted: str = "",
    waits_for: tuple[Awaited, ...] = (),
    width: int = 100,
) -> list[str]:
    """The rows of the page from Where to Change, without what indents them all."""
    given = {"where": where, "instructions": instructions, "lines_wanted": lines_wanted, "waits_for": waits_for}
    finding = replace(advice_finding(), **given)  # type: ignore[arg-type]
    launch = replace(launch_with_advice(), outcomes=(finding,))
    rows = render(Diagnosis((launch,), ()), width=width).split("\n")
    start = next((at for at, row in enumerate(rows) if row.startswith(("  Where", "  Waits"))), 0)
    end = next(at for at, row in enumerate(rows) if row.startswith("  Example"))
    return [row[11:] if not row.startswith("  Where") else row[2:] for row in rows[start:end]]


def test_the_hot_line_is_marked_in_its_surroundings() -> None:
    assert page(line(9)) == ["Where    a.cu:9  50% of it", "   8 code 8;", " > 9 code 9;", "  10 code 10;"]


def test_lines_whose_surroundings_overlap_share_them() -> None:
    shown = page(line(9), line(40, 0.2), line(11, 0.3))
    assert [row for row in shown if row.startswith("Where")] == [
        "Where    a.cu:9  50% of it",
        "Where    a.cu:11  30% of it",
        "Where    a.cu:40  20% of it",
    ]
    assert [row.split()[-1] for row in shown if "code 10" in row] == ["10;"]
    assert [row.split()[1] for row in shown if row.strip().startswith(">")] == ["9", "11", "40"]


def test_a_line_between_two_others_joins_them() -> None:
    shown = page(line(9), line(13), line(11))
    assert [row.split()[1] for row in shown if row.startswith("Where")] == ["a.cu:9", "a.cu:11", "a.cu:13"]
    assert sum("code" in row for row in shown) == len(range(8, 15))


def test_lines_of_two_files_are_separate() -> None:
    assert sum("code 10" in row for row in page(line(9), line(10, file="b.cu"))) == 2


def test_an_inlined_line_names_its_caller() -> None:
    called = replace(line(9, file="b.h"), inlined=True, called_from=(CallSite("a.cu", 40, "x = f(y);"),))
    assert page(called)[:2] == ["Where    b.h:9  50% of it, inlined", " called by a.cu:40  x = f(y);"]
    unseen = replace(called, called_from=(CallSite("a.cu", 40), CallSite("a.cu", 44)))
    assert page(unseen)[0] == "Where    b.h:9  50% of it, inlined at a.cu:40, a.cu:44"
    assert page(replace(called, called_from=()))[0] == "Where    b.h:9  50% of it, inlined"


def test_a_remark_is_shown_once_for_each_excerpt() -> None:
    changed = [replace(line(number), remark="it has changed") for number in (9, 10)]
    assert sum("(it has changed)" in row for row in page(*changed)) == 1


def test_a_line_without_source_is_its_place_and_the_reason() -> None:
    assert page(SourceLine("a.cu", 9, 0.5, "", remark="not there")) == ["Where    a.cu:9  50% of it", " (not there)"]


def test_instructions_are_shown_with_how_to_get_lines() -> None:
    shown = page(instructions=(HotInstruction(0x2A0, "LDG.E R9, desc[UR6][R4.64]", 0.625),), lines_wanted="use it")
    assert shown == ["Where    instruction 0x02a0  62% of it", " LDG.E R9, desc[UR6][R4.64]", " (use it)"]


@pytest.mark.parametrize("width", [40, 60])
def test_code_around_is_cut_at_the_width_and_the_hot_line_is_not(width: int) -> None:
    long = replace(line(9), around=tuple(CodeLine(n, f"start {n} " + "x" * 100 + " end;") for n in (8, 9, 10)))
    shown = page(long, width=width)
    assert all(cell_len(row) <= width for row in shown)
    assert sum("end;" in row for row in shown) == 1
    assert sum("…" in row for row in shown) == 2


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("/__4/____1/___0/__0/_0/______2/include/sm_30_intrinsics.hpp", "include/sm_30_intrinsics.hpp"),
        ("/__4/p01.cu", "p01.cu"),
        ("transpose/copy.cu", "transpose/copy.cu"),
        ("/home/me/src/copy.cu", "/home/me/src/copy.cu"),
        ("_1/copy.cu", "_1/copy.cu"),
    ],
)
def test_folders_without_meaning_are_not_shown(file: str, shown: str) -> None:
    assert shown_file(file) == shown


def test_what_is_waited_for_is_one_line_with_its_share() -> None:
    assert page(waits_for=(awaited_load(),)) == [
        "for LDS of /src/transpose.cu:41, 62% of the waiting: odata[yout * width + xout] = tile[t…"
    ]
    near = replace(awaited_load(), file="a.cu", code="x = tile[i];")
    assert page(line(9), waits_for=(near,))[-1] == "for LDS of line 41, 62% of the waiting: x = tile[i];"
    unknown = replace(awaited_load(), file="", line=0, code="")
    assert page(waits_for=(unknown, awaited_load())) == ["for LDS of instruction 0x01a0, 62% of the waiting"]
