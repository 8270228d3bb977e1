"""JUnit XML from a ``Diagnosis`` and a ``Gate`` (``junit``): a test for each kernel's diagnosis and for each check.

A suite is a report; a check that closes the gate is a failure, or an error where it could not be judged.

Each kernel and configuration has a test ``diagnosis`` with the advice, which passes, or is skipped where most rules
could not judge it. JUnit has no warnings: a check that only warns passes with a text, or is skipped. Times are those of
the launches in seconds; a check has 0.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import fsum, isfinite

from lxml import etree

from ncuview.base.figures import duration, factor
from ncuview.base.paths import shown_path
from ncuview.comparison.compare import launch_words
from ncuview.records.diagnosis import Diagnosis, LaunchDiagnosis
from ncuview.records.gate import Check, Gate
from ncuview.records.profile import NOWHERE, Extent, Failure, ReportInfo
from ncuview.render.gate_words import closes
from ncuview.render.text import safe_text, without_ci_commands
from ncuview.render.words import bottleneck_sentence, failure_sentence, shown_file, verdict_headline, verdict_reason

_Kernel = tuple[str, Extent, Extent]
_ELSEWHERE = "gate"
"""The suite for checks of kernels that are not in the reports."""


def junit(diagnosis: Diagnosis, gate: Gate | None) -> str:
    """The document, with an XML declaration."""
    root = etree.Element("testsuites", name="ncuview")
    checks: defaultdict[_Kernel, list[Check]] = defaultdict(list)
    for check in gate.checks if gate else ():
        checks[check.kernel, check.grid, check.block].append(check)
    for path, launches in _by_report(diagnosis):
        suite = _suite(root, path, next((each for each in diagnosis.reports if each.path == path), None))
        for kernel, members in _by_kernel(launches).items():
            _diagnosed(suite, kernel, members)
            for check in checks.pop(kernel, ()):
                _checked(suite, check, gate)
    if checks:
        suite = _suite(root, _ELSEWHERE, None)
        for check in (check for some in checks.values() for check in some):
            _checked(suite, check, gate)
    if diagnosis.failure and not gate:  # a gate has a check of it
        _failed(root, diagnosis.failure)
    if gate and not gate.checks:
        _nothing_checked(root)
    if gate and gate.notes:
        _text(etree.SubElement(root[-1] if len(root) else _suite(root, _ELSEWHERE, None), "system-out"), [gate.notes])
    _count(root)
    document: bytes = etree.tostring(root, xml_declaration=True, encoding="UTF-8", pretty_print=True)
    return document.decode("utf-8")


def _by_report(diagnosis: Diagnosis) -> Iterator[tuple[str, list[LaunchDiagnosis]]]:
    found: defaultdict[str, list[LaunchDiagnosis]] = defaultdict(list)
    for launch in diagnosis.launches:
        found[launch.report].append(launch)
    yield from found.items()


def _by_kernel(launches: Sequence[LaunchDiagnosis]) -> dict[_Kernel, list[LaunchDiagnosis]]:
    found: defaultdict[_Kernel, list[LaunchDiagnosis]] = defaultdict(list)
    for launch in launches:
        found[launch.demangled, launch.grid, launch.block].append(launch)
    return found


def _suite(root: etree._Element, name: str, report: ReportInfo | None) -> etree._Element:
    suite = etree.SubElement(root, "testsuite", name=safe_text(shown_path(name)))
    if report and report.created:
        suite.set("timestamp", f"{report.created:%Y-%m-%dT%H:%M:%S}")
    return suite


def _diagnosed(suite: etree._Element, kernel: _Kernel, launches: Sequence[LaunchDiagnosis]) -> None:
    case = _case(suite, kernel, "diagnosis", fsum(each.whole_ns for each in launches if isfinite(each.whole_ns)))
    longest = max(launches, key=lambda each: each.whole_ns if isfinite(each.whole_ns) else 0.0)
    if longest.verdict == "not-judged":
        etree.SubElement(case, "skipped", message=safe_text(f"{verdict_headline(longest)} {verdict_reason(longest)}"))
    _text(etree.SubElement(case, "system-out"), _diagnosis_lines(longest, len(launches)))


def _diagnosis_lines(launch: LaunchDiagnosis, launches: int) -> Iterator[str]:
    yield f"{launch.verdict}: {launch.kernel}, {launches:,} launches, {duration(launch.whole_ns)} the longest"
    yield f"{bottleneck_sentence(launch)}."
    for finding in launch.findings:
        gain = finding.predicted_speedup
        yield f"{finding.rule.code} {finding.fix.title}: {factor(gain.best)} faster ({gain.bounds})"
        yield f"  {finding.message}."
        yield from (f"  at {shown_file(line.file)}:{line.line}" for line in finding.where)


def _checked(suite: etree._Element, check: Check, gate: Gate | None) -> None:
    name = f"{check.subject} {check.condition} ({check.origin})"
    case = _case(suite, (check.kernel, check.grid, check.block), name, 0.0)
    if gate and closes(check, gate):
        kind = "failure" if check.result == "failed" else "error"
        problem = etree.SubElement(case, kind, message=safe_text(check.message), type=safe_text(check.subject))
        _text(
            problem, [check.message, *(f"at {shown_file(line.file)}:{line.line}  {line.code}" for line in check.where)]
        )
    elif check.result in {"inconclusive", "not judged"}:
        etree.SubElement(case, "skipped", message=safe_text(f"{check.result}: {check.message}"))
    else:
        words = "failed, which does not close the gate: " if check.result == "failed" else ""
        _text(etree.SubElement(case, "system-out"), [f"{words}{check.message}"])


def _failed(root: etree._Element, failure: Failure) -> None:
    suite = _suite(root, _ELSEWHERE, None)
    case = etree.SubElement(suite, "testcase", classname="ncuview", name="the profile is complete", time=_seconds(0.0))
    problem = etree.SubElement(case, "error", message=safe_text(failure_sentence(failure)), type=safe_text(failure.id))
    _text(problem, [failure.message, failure.hint])


def _nothing_checked(root: etree._Element) -> None:
    """A skipped test, so that the page does not read as if checks had passed."""
    case = _case(_suite(root, _ELSEWHERE, None), ("*", NOWHERE, NOWHERE), "checks judged", 0.0)
    etree.SubElement(case, "skipped", message="nothing was checked")


def _case(suite: etree._Element, kernel: _Kernel, name: str, time_ns: float) -> etree._Element:
    demangled, grid, block = kernel
    configured = " ".join(filter(None, [demangled, launch_words(grid, block)]))
    attributes = {"classname": safe_text(configured), "name": safe_text(name), "time": _seconds(time_ns)}
    return etree.SubElement(suite, "testcase", attributes)


def _count(root: etree._Element) -> None:
    """Set the numbers of tests and the sums of times, for each suite and in total."""
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    time = 0.0
    for suite in root:
        counts = {
            "tests": len(suite.findall("testcase")),
            "failures": len(suite.findall("testcase/failure")),
            "errors": len(suite.findall("testcase/error")),
            "skipped": len(suite.findall("testcase/skipped")),
        }
        seconds = fsum(float(case.get("time", "0")) for case in suite.findall("testcase"))
        for key, count in counts.items():
            suite.set(key, str(count))
            totals[key] += count
        suite.set("time", f"{seconds:.9f}")
        time += seconds
    for key in ("tests", "failures", "errors"):
        root.set(key, str(totals[key]))
    root.set("time", f"{time:.9f}")


def _seconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e9:.9f}"


def _text(element: etree._Element, lines: Iterable[str]) -> None:
    element.text = without_ci_commands("\n".join(map(safe_text, lines)))
