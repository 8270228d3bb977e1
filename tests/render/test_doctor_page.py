"""The page and the document of ``ncuview doctor``."""

from __future__ import annotations

import json
from typing import Any

import pytest
from rich.cells import cell_len

from ncuview.doctor import CHECKS, examine_this_machine
from ncuview.doctor.verdict import Checked, Evidence, Examination, Verdict, fail, ok, unknown, warn
from ncuview.render.doctor import doctor_json, doctor_page
from tests.hostile import HOSTILE
from tests.render.schema import problems

SEEN = Evidence("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 1")


def made(*verdicts: Verdict, live: tuple[Checked, ...] = ()) -> Examination:
    return Examination(
        tuple(
            Checked(each.name, each.title, each.ids, verdict) for each, verdict in zip(CHECKS, verdicts, strict=False)
        ),
        live,
    )


MIXED = made(
    ok("ncu 2025.3.1", SEEN),
    unknown("nvidia-smi is not on PATH"),
    warn("it is old", SEEN, fix="Update it."),
    fail("it is closed", SEEN, fix="Open it."),
    unknown("it hung", fix="Wait."),
    unknown("nvidia-smi is not on PATH"),
    ok("all is well"),
)


def page(examination: Examination, width: int = 100) -> str:
    return doctor_page(examination, width=width, color=False)


def document(examination: Examination) -> dict[str, Any]:
    read: dict[str, Any] = json.loads(doctor_json(examination), parse_constant=pytest.fail)
    assert not problems(read, "doctor")
    return read


def test_troubles_come_first() -> None:
    assert page(MIXED) == (
        "Reports can be read. Programs cannot be profiled: it is closed.\n"
        "\n"
        "  FAIL     CUDA driver: it is closed [NCU-STUB]\n"
        "  Seen     /proc/driver/nvidia/params: RmProfilingAdminOnly: 1\n"
        "  Fix      Open it.\n"
        "\n"
        "  WARN     Reader of reports: it is old [NCU-VERSION]\n"
        "  Seen     /proc/driver/nvidia/params: RmProfilingAdminOnly: 1\n"
        "  Fix      Update it.\n"
        "\n"
        "  UNKNOWN  Other installations of ncu, Driver and ncu: nvidia-smi is not on PATH\n"
        "\n"
        "  UNKNOWN  Stub library: it hung\n"
        "  Fix      Wait.\n"
        "\n"
        "  OK       ncu 2025.3.1; all is well\n"
        "\n"
        "1 FAIL, 1 WARN, 3 UNKNOWN, 2 OK; --format json has what every check saw.\n"
    )


def test_where_nothing_is_well_nothing_is_said_of_it() -> None:
    assert "\n  OK " not in page(made(fail("it is closed", SEEN, fix="Open it.")))


def test_a_check_without_an_id() -> None:
    found = Examination((Checked("ecc", "Error correction", (), warn("it has errors", SEEN, fix="Look.")),))
    assert "  WARN     Error correction: it has errors\n" in page(found)


@pytest.mark.parametrize("width", [40, 60, 80, 100, 120])
def test_pages_keep_their_width(width: int) -> None:
    assert max(cell_len(line) for line in page(MIXED, width).splitlines()) <= width


def test_colour_says_nothing_that_words_do_not() -> None:
    coloured = doctor_page(MIXED, width=100, color=True)
    assert "\x1b[31m" in coloured
    assert "\x1b" not in page(MIXED)


def test_the_document_has_everything() -> None:
    read = document(MIXED)
    assert read["failed"] is True
    assert read["counts"] == {"FAIL": 1, "WARN": 1, "UNKNOWN": 3, "OK": 2}
    assert read["summary"] == MIXED.summary
    assert read["checks"][3] == {
        "name": "cuda-driver",
        "title": "CUDA driver",
        "status": "FAIL",
        "message": "it is closed",
        "evidence": [{"where": SEEN.where, "what": SEEN.what}],
        "fix": "Open it.",
        "ids": ["NCU-STUB"],
    }
    assert read["live"] == []


def test_live_checks_stand_apart() -> None:
    tried = Checked("live-one-metric", "Live, one metric", ("NCU-PERM",), fail("refused", SEEN, fix="Ask."))
    read = document(made(ok("fine"), live=(tried,)))
    assert [each["name"] for each in read["live"]] == ["live-one-metric"]
    assert "Live, one metric: refused [NCU-PERM]" in page(made(ok("fine"), live=(tried,)))


def test_a_real_examination_fits_the_schema() -> None:
    assert len(document(examine_this_machine())["checks"]) == 23


def test_hostile_text_is_inert() -> None:
    for payload in (f"see {text}" for text in HOSTILE.values()):
        hostile = made(fail(payload, Evidence(payload, payload), fix=payload), unknown(payload), ok(payload))
        shown = page(hostile)
        assert not [character for character in shown if character != "\n" and not character.isprintable()]
        document(hostile)
