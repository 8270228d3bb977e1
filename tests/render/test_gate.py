"""The page of a gate: failures first, with reasons, and the verdict."""

from __future__ import annotations

import unicodedata
from dataclasses import replace

from ncuview.records.diagnosis import SourceLine
from ncuview.records.gate import Check, CheckResult, Gate, Level
from ncuview.render.gate import gate_page
from tests.hostile import HOSTILE, name_of
from tests.together import together

LINE = SourceLine("transpose/naive.cu", 12, 1.0, "out[x * n + y] = in[y * n + x];")


def check(result: CheckResult, level: Level = "error", kernel: str = "copy(float *)") -> Check:
    return Check(
        kernel=kernel,
        grid=(8, 1, 1),
        block=(32, 8, 1),
        subject="gst_transactions_per_request",
        condition="at most 4 sector/request",
        result=result,
        level=level,
        measured=32.0,
        limit=4.0,
        unit="sector/request",
        message="it is 32 sector/request",
        origin="budgets.toml, budget 1",
        where=(LINE,),
    )


def test_failures_come_first_with_their_line_and_their_condition() -> None:
    page = gate_page(Gate((check("passed", kernel="good()"), check("failed", "warn"), check("failed")), "error"))
    lines = page.splitlines()
    assert [line.split()[0] for line in lines if line.startswith("  ") and line[2] != " "] == ["FAIL", "warn", "ok"]
    words = " ".join(page.split())
    assert "FAIL copy [8, 32x8] gst_transactions_per_request at most 4 sector/request: it is 32 sector/request" in words
    assert "transpose/naive.cu:12 out[x * n + y] = in[y * n + x]; (budgets.toml, budget 1)" in words
    assert lines[-1] == "gate: closed, 1 of 3 checks failed, 1 warning (exit code 1)"


def test_every_check_is_a_line() -> None:
    page = gate_page(Gate((check("passed"),) * 40, "error"), width=200)
    assert page.count("  ok  ") == 40


def test_checks_that_passed_can_be_left_out() -> None:
    page = gate_page(Gate((check("passed"), check("failed")), "error"), detail="normal")
    assert ("FAIL" in page, "  ok  " in page) == (True, False)
    assert gate_page(Gate((check("passed"),), "error"), detail="normal") == "gate: open, 1 check passed\n"


def test_a_quiet_page_has_a_line_per_check_that_did_not_pass() -> None:
    long = replace(check("failed"), message=f"it is 32; {'because ' * 30}")
    checks = (check("passed"), long, replace(check("failed"), level="warn"))
    lines = gate_page(Gate(checks, "error", unrecorded="unknown"), width=40, detail="quiet").splitlines()
    assert [line.split()[0] for line in lines] == ["FAIL", "warn", "gate:"]
    assert lines[0].endswith(": it is 32")
    assert "budgets.toml" not in lines[0]


def test_a_remark_is_the_first_line() -> None:
    page = gate_page(Gate((), "error", "compared by force: GPU A before, B after"))
    assert page.startswith("compared by force: GPU A before, B after.\n")


@together("evil", HOSTILE.values(), name=name_of)
def test_names_from_reports_are_inert(evil: str) -> None:
    where = (replace(LINE, file=evil, code=evil),)
    hostile = replace(check("failed"), kernel=evil, message=evil, origin=evil, where=where)
    page = gate_page(Gate((hostile,), "error", evil), width=100_000)
    plain = gate_page(Gate((check("failed"),), "error", "x" if evil else ""), width=100_000)
    assert len(page.splitlines()) == len(plain.splitlines())
    assert not [one for one in page if unicodedata.category(one) in {"Cc", "Cf", "Cs"} and one != "\n"]


def test_color_is_only_color() -> None:
    gate = Gate((check("failed"), check("passed")), "error")
    assert "\x1b[" in gate_page(gate, color=True)
    assert "\x1b" not in gate_page(gate)
