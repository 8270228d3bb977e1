"""JUnit: valid, the same to two parsers, and a failure only where a check closes the gate."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
import xunitparser  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st
from junitparser import JUnitXml
from lxml import etree

from ncuview.records.diagnosis import Diagnosis
from ncuview.records.gate import Gate
from ncuview.render.junit import junit
from tests.hostile import each_hostile_text, poisoned
from tests.render.gate_sample import failed_warning, gate, inconclusive, poisoned_gate
from tests.render.recorded import recorded
from tests.render.sample import diagnosis, launch_near_peak, launch_with_advice

PARSER = etree.XMLParser(resolve_entities=False, no_network=True)


@cache
def schema() -> etree.XMLSchema:
    return etree.XMLSchema(etree.parse(Path(__file__).with_name("junit.xsd")))


def parsed(text: str) -> etree._Element:
    document = etree.fromstring(text.encode("utf-8"), PARSER)
    schema().assertValid(document)
    return document


def outcomes(document: etree._Element) -> dict[str, str]:
    """The beginning of the kernel's name and the name of each test, and what it is."""
    found = {}
    for case in document.iter("testcase"):
        name = f"{case.get('classname', '').partition('(')[0]} {case.get('name')}"
        found[name] = next((str(part.tag) for part in case if part.tag in {"failure", "error", "skipped"}), "passed")
    return found


def test_each_check_is_a_test_and_only_what_closes_the_gate_fails() -> None:
    assert outcomes(parsed(junit(diagnosis(), gate()))) == {
        "transposeCoalesced diagnosis": "passed",
        "transposeCoalesced duration_ns at most 300,000 ns (budget.toml, budget 1)": "failure",
        "transposeCoalesced SMEM001 shared-bank-conflict must not be found (budget.toml, budget 2)": "passed",
        "transposeNoBankConflicts diagnosis": "passed",
        "transposeNoBankConflicts gld_transactions_per_request as in the baseline, 4 sectors (baseline main.json)": (
            "passed"
        ),
        "transposeNoBankConflicts duration_ns at most 5% above the baseline (baseline main.json)": "error",
        "void latencyBound< diagnosis": "passed",
        "void latencyBound< gld_efficiency at least 80 % (budget.toml, budget 3)": "error",
        "gone kernel is there as in the baseline (baseline main.json)": "passed",
    }


def test_without_a_gate_nothing_fails_and_the_advice_is_there() -> None:
    document = parsed(junit(diagnosis(), None))
    assert set(outcomes(document).values()) == {"passed"}
    outputs = [case.findtext("system-out") or "" for case in document.iter("testcase")]
    assert "Pad the tile by one column: 2.18x faster (1.94x to 2.29x)" in outputs[0]
    assert "transpose/coalesced.cu:63" in outputs[0]
    assert "near-peak" in outputs[1]
    assert "unclear" in outputs[2]


def test_a_failure_has_message_type_and_text() -> None:
    (failure,) = parsed(junit(diagnosis(), gate())).iter("failure")
    assert failure.get("message", "").startswith("took 328,320 ns")
    assert failure.get("type") == "duration_ns"
    assert (failure.text or "").startswith("took 328,320 ns")


def test_a_warning_fails_where_warnings_close_the_gate() -> None:
    strict = Gate((failed_warning(),), "warn")
    (failure,) = parsed(junit(diagnosis(), strict)).iter("failure")
    assert "at transpose/coalesced.cu:63" in (failure.text or "")


def test_a_failure_that_closes_nothing_says_so() -> None:
    document = parsed(junit(diagnosis(), Gate((failed_warning(),), "error")))
    assert not list(document.iter("failure"))
    assert "failed, which does not close the gate: up to 32-way" in etree.tostring(document).decode()


def test_what_only_warns_and_cannot_be_judged_is_skipped() -> None:
    document = parsed(junit(diagnosis(), Gate((replace(inconclusive(), level="warn"),), "error")))
    assert [skipped.get("message") for skipped in document.iter("skipped")] == [
        "inconclusive: five repeats spread by 12%"
    ]
    assert document[0].get("skipped") == "1"


def test_each_report_is_a_suite_and_times_are_those_of_the_launches() -> None:
    other = replace(launch_near_peak(), report="other.ncu-rep")
    twice = replace(launch_with_advice(), index=5)
    document = parsed(junit(Diagnosis((launch_with_advice(), twice, other), diagnosis().reports), None))
    assert [suite.get("name") for suite in document] == ["runs/transpose.ncu-rep", "other.ncu-rep"]
    assert [suite.get("tests") for suite in document] == ["1", "1"]
    assert document[0].get("timestamp") == "2026-11-21T09:28:08"
    assert float(document[0][0].get("time", "")) == pytest.approx(2 * 328_320e-9)
    assert float(document.get("time", "")) == pytest.approx(2 * 328_320e-9 + 141_800e-9)


def test_two_parsers_read_the_same_numbers() -> None:
    text = junit(diagnosis(), gate())
    one = JUnitXml.fromstring(text.encode())
    counted = (one.tests, one.failures, one.errors, sum(suite.skipped for suite in one))
    assert counted == (9, 1, 2, 0)
    found = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for suite in etree.fromstring(text.encode()).iter("testsuite"):
        cases, result = xunitparser.parse(StringIO(etree.tostring(suite, encoding="unicode")))
        found["tests"] += cases.countTestCases()
        found["failures"] += len(result.failures)
        found["errors"] += len(result.errors)
        found["skipped"] += len(result.skipped)
    assert tuple(found.values()) == counted


def test_a_recorded_profile_is_valid() -> None:
    document = parsed(junit(recorded(), None))
    kernels = {(launch.demangled, launch.grid, launch.block) for launch in recorded().launches}
    assert int(document.get("tests", "")) == len(kernels)


@each_hostile_text
def test_any_name_gives_a_valid_document(text: str) -> None:
    document = parsed(junit(poisoned(diagnosis(), text), poisoned_gate(text)))
    assert {part.tag for part in document.iter()} <= {
        *("testsuites", "testsuite", "testcase", "failure", "error", "skipped", "system-out")
    }


@given(st.text(st.characters(), max_size=20))
def test_any_text_at_all_gives_a_valid_document(text: str) -> None:
    parsed(junit(poisoned(diagnosis(), text), poisoned_gate(text)))
