"""A program of several processes: the sequence of each is judged alone, and pages compare them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from ncuview.programs.processes import processes_of
from ncuview.records.diagnosis import Diagnosis
from ncuview.records.profile import CallStack, Frame, Profile
from ncuview.records.program import ProgramDiagnosis
from ncuview.render import render
from ncuview.render.notebook import answer_html
from ncuview.render.outputs import output_text
from ncuview.render.program_words import program_sentence, uneven_lines
from ncuview.trends.document import read_document
from tests.programs.test_of_profile import judged, profile, stack

BYTES = {"dram__bytes_read.sum": 4e8, "dram__bytes_write.sum": 4e8}
CHAIN = (5, 6, 7, 8, 9)
"""Lines of a chain, which one process runs one after the other."""
WORKER = Frame("_worker_loop", "/opt/python/lib/python3.12/site-packages/torch/utils/data/_utils/worker.py", 349)
FORMS = ("terminal", "markdown", "html")


def of_processes(
    lines: Sequence[int],
    processes: Sequence[int],
    reports: Sequence[str] = (),
    slow: int = 0,
    metrics: Mapping[str, float] = BYTES,
) -> Profile:
    """Launches from these lines, each of a process; those of process ``slow`` take twice as long."""
    made = profile(tuple(lines), **metrics)
    made.launches["process"] = list(processes)
    made.launches["process_name"] = "python3.12"
    if reports:
        made.launches["report"] = list(reports)
    made.launches["duration_ns"] *= [2.0 if process == slow else 1.0 for process in processes]
    return made


def program(found: Profile) -> ProgramDiagnosis:
    made = judged(found).program
    assert made is not None
    return made


def interleaved(slow: int = 0) -> Profile:
    """The chain in two processes that take turns, as ncu writes them."""
    return of_processes(sorted([*CHAIN, *CHAIN]), [11, 12] * 5, slow=slow)


def names(found: Profile) -> list[str]:
    return [of.process.name for of in processes_of(found)]


def test_threads_whose_process_is_unknown_are_none_of_the_processes() -> None:
    """ncu names the processes of a report, and of a launch only the thread."""
    mixed = of_processes(sorted([*CHAIN, *CHAIN, *CHAIN]), [11, 12, 0] * 5)
    assert names(mixed) == ["process 1 of 2", "process 2 of 2", "further threads"]
    found = program(mixed)
    assert [process.launches for process in found.processes] == [5, 5, 5]
    assert "15 launches of 2 processes" in program_sentence(found)
    assert {name for finding in found.findings for name in finding.processes} == {"process 1 of 2", "process 2 of 2"}


def test_one_process_needs_no_comparison() -> None:
    found = program(of_processes(CHAIN, [11] * 5))
    assert found.processes == ()
    assert {call.times_ns for call in found.calls} == {()}
    assert [finding.processes for finding in found.findings] == [()]


def test_processes_are_in_the_order_of_their_first_launches() -> None:
    first, second = program(of_processes((7, 7, 8), (12, 11, 12))).processes
    assert (first.name, first.number, first.launches, first.time_ns) == ("process 1 of 2", 12, 2, 20_000.0)
    assert (second.name, second.number, second.launches, second.program) == ("process 2 of 2", 11, 1, "python3.12")
    assert first.share + second.share == pytest.approx(1.0)


def test_sequences_of_processes_that_take_turns_are_judged_apart_and_joined_where_they_agree() -> None:
    [alone] = program(of_processes(CHAIN, [11] * 5)).findings
    [joined] = program(interleaved()).findings
    assert joined.change == alone.change
    assert joined.processes == ("process 1 of 2", "process 2 of 2")
    assert joined.launches == tuple(range(10))
    assert joined.saved_ns.best == pytest.approx(2 * alone.saved_ns.best)
    assert joined.gain == pytest.approx(alone.gain)
    assert "in 2 processes" in joined.message


def test_a_change_of_one_process_names_it_and_counts_its_own_time() -> None:
    [alone] = program(of_processes(CHAIN, [11] * 5)).findings
    found = of_processes((*CHAIN, 3, 4, 3, 4), [11] * 5 + [12] * 4)
    [finding] = [each for each in program(found).findings if {call.line for call in each.calls} & {*CHAIN}]
    assert finding.processes == ("process 1 of 2",)
    assert finding.launches == (0, 1, 2, 3, 4)
    assert finding.gain == pytest.approx(alone.gain)
    assert finding.message.startswith("in process 1 of 2 ")


def test_each_line_has_its_time_in_each_process() -> None:
    found = program(of_processes((7, 7, 8), (11, 12, 12), slow=12))
    assert {call.call.line: call.times_ns for call in found.calls} == {7: (10_000.0, 20_000.0), 8: (0.0, 20_000.0)}


def test_lines_that_differ_most_come_first_and_those_of_one_process_are_left_out() -> None:
    found = program(of_processes((7, 7, 8, 8, 8, 9), (11, 12, 11, 12, 12, 12)))
    assert [(line.each.call.line, line.ratio) for line in uneven_lines(found)] == [(8, 2.0)]
    assert (uneven_lines(found)[0].longest, uneven_lines(found)[0].shortest) == (1, 0)


def test_the_rank_is_that_of_the_report_s_name() -> None:
    found = of_processes((7, 7), (11, 11), ("runs/step-rank1.ncu-rep", "runs/step-rank0.ncu-rep"))
    assert names(found) == ["rank 1", "rank 0"]


@pytest.mark.parametrize(
    ("reports", "processes", "expected"),
    [
        (("before.ncu-rep", "after.ncu-rep"), (11, 11), ["before.ncu-rep", "after.ncu-rep"]),
        (("a/x.ncu-rep", "b/x.ncu-rep"), (11, 11), ["process 1 of 2", "process 2 of 2"]),
        (("rank0.ncu-rep", "rank0.ncu-rep"), (11, 12), ["process 1 of 2", "process 2 of 2"]),
        (("a-rank0.ncu-rep", "b-rank0.ncu-rep"), (11, 12), ["process 1 of 2", "process 2 of 2"]),
    ],
)
def test_names_of_processes_are_distinct(
    reports: tuple[str, ...], processes: tuple[int, ...], expected: list[str]
) -> None:
    assert names(of_processes((7, 7), processes, reports)) == expected


def test_a_data_loader_worker_is_named_by_its_stack() -> None:
    found = of_processes((7, 8, 9), (11, 12, 13))
    of_worker = CallStack((*stack(8).python, WORKER), stack(8).native)
    found = replace(found, call_stacks={**found.call_stacks, 1: of_worker})
    assert names(found) == ["process 1 of 2", "data-loader worker 1", "process 2 of 2"]
    found.launches["process"] = [11, 12, 11]
    assert names(found) == ["main process", "data-loader worker 1"]


def sample() -> Diagnosis:
    return judged(interleaved(slow=12))


@pytest.mark.parametrize("form", FORMS)
def test_pages_compare_processes(form: str) -> None:
    page = " ".join(str(output_text(sample(), None, form)).replace("<!-- -->", "").split())
    for words in ("of 2 processes", "process 1 of 2 (python3.12, pid 11)", "67%", "2.00x the time in process 2 of 2"):
        assert words in page, words


@pytest.mark.parametrize("form", FORMS)
def test_pages_of_one_process_have_no_such_block(form: str) -> None:
    page = str(output_text(judged(of_processes(CHAIN, [11] * 5)), None, form))
    assert "pid 11" not in page
    assert "process 1" not in page


def test_a_notebook_cell_compares_processes() -> None:
    assert "process 1 of 2 (python3.12, pid 11)" in answer_html(sample())


def test_the_document_reads_back_with_its_processes(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(render(sample(), "json"), encoding="utf-8")
    document = json.loads(file.read_text(encoding="utf-8"))
    assert [process["number"] for process in document["program"]["processes"]] == [11, 12]
    back = read_document(file)
    assert back is not None
    assert back.program == sample().program
    assert render(back, "json") == file.read_text(encoding="utf-8")


def test_a_document_without_processes_is_of_one_process(tmp_path: Path) -> None:
    document = json.loads(render(judged(of_processes(CHAIN, [11] * 5)), "json"))
    del document["program"]["processes"]
    for part in document["program"]["calls"]:
        del part["times_ns"]
    for part in document["program"]["findings"]:
        del part["processes"]
    file = tmp_path / "a.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    back = read_document(file)
    assert back is not None
    assert back.program is not None
    assert back.program.processes == ()
