"""Trials of programs: versions are built and run in copies, and their output, launches and memory are compared."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest

from ncuview.base.at_once import IN_TURN, Together
from ncuview.base.errors import ProgramFailed, ReportEmpty
from ncuview.catalogue.launcher.ratios import FEW, FIRST_LOOK
from ncuview.catalogue.machine_code import KernelCode
from ncuview.patch.patch import Edit, edit_between
from ncuview.sass.code import Code
from ncuview.trial.programs import ProgramBench, ProgramTarget, ProgramTools, built_copy, is_named, traced_by
from ncuview.trial.sanitizer import TOOLS, Printed
from ncuview.trial.scratch import state_of
from ncuview.trial.search import NotBuilt, NotTimed
from ncuview.trial.verify import Verification
from ncuview.trial.work import COUNTED, Counted, Judged
from tests.render.sample import launch_with_advice

SOURCE = "__global__ void copy(float *a) { a[threadIdx.x] = 1.0; }\n"
APP = """\
import os, pathlib, time
source = pathlib.Path("built.cu").read_text()
folder = os.environ.get("NCUVIEW_KERNEL_TIMES")
if folder and "LOST" not in source:
    launches = 3 if "OFTEN" in source else 2
    ns = 500 if "FASTER" in source else 1000
    name = "_Z4copyPfj" if "PARAMETER" in source else "_Z4copyPf"
    lines = [f"{ns}\\t8,1,1\\t256,1,1\\t{name}"] * launches + ["70\\t1,1,1\\t1,1,1\\t_Z5otherPf", "complete", ""]
    pathlib.Path(folder, "1.tsv").write_text("\\n".join(lines))
if "CRASH" in source:
    raise SystemExit("an illegal memory access")
if "SILENT" not in source:
    print("sum", 41 if "WRONG" in source else 42, time.time_ns() if "CLOCK" in source else "")
    pathlib.Path("out.txt").write_text("other" if "FILE" in source else "right")
"""
CLEAN = "========= COMPUTE-SANITIZER\n========= {summary}\n"
SUMMARY = {"racecheck": "RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"}
RACE = "========= Error: Race reported between Write access at copy+0x80 in k.cu:1\n"


def judge(_: Path, __: Sequence[str], ___: str) -> Judged | None:
    return None


def sanitizer(tool: str, folder: Path, _: Sequence[str], kernel: str) -> Printed:
    assert kernel == "copy"
    source = (folder / "built.cu").read_text()
    if "BROKEN TOOL" in source:
        return Printed("", ended=False)
    races = "RACE" in source and tool == "racecheck"
    summary = SUMMARY.get(tool, "ERROR SUMMARY: 0 errors")
    if races:
        summary = "RACECHECK SUMMARY: 1 hazards displayed (1 errors, 0 warnings)"
    return Printed(CLEAN.format(summary=f"{summary}").replace("SANITIZER\n", f"SANITIZER\n{RACE * races}"), ended=True)


def code_of(_: Path, program: Sequence[str], __: str) -> KernelCode:
    raise ReportEmpty(f"{program[0]} holds no machine code")


def count(folder: Path, _: Sequence[str], __: str) -> Counted | None:
    source = (folder / "built.cu").read_text()
    if "UNCOUNTED" in source:
        raise ReportEmpty("the profile holds no launch of copy")
    if "COUNTED" not in source:
        return None
    stored = 0.0 if "EMPTY" in source else 8192.0
    nothing = dict.fromkeys(COUNTED, 0.0)
    return Counted((("copy", (8, 1, 1), (256, 1, 1)),), {**nothing, "global stores": stored})


@pytest.fixture
def bench(tmp_path: Path) -> ProgramBench:
    return made(tmp_path)


def made(
    folder: Path,
    *,
    source: str = SOURCE,
    check: str = "",
    sanitizer: Callable[[str, Path, Sequence[str], str], Printed] = sanitizer,
    code_of: Callable[[Path, Sequence[str], str], KernelCode] = code_of,
    judge: Callable[[Path, Sequence[str], str], Judged | None] = judge,
    at_once: Together = IN_TURN,
    left_s: Callable[[], float] = lambda: math.inf,
    original: Path | None = None,
) -> ProgramBench:
    tree = folder / "tree"
    tree.mkdir(exist_ok=True)
    (tree / "k.cu").write_text(source)
    (tree / "app.py").write_text(APP)
    build = "grep -q MISTAKE k.cu && { echo error: MISTAKE >&2; exit 1; }; cp k.cu built.cu"
    target = ProgramTarget(tree, Path("k.cu"), "copy", build, (sys.executable, "app.py"), check, run_limit_s=20.0)
    target = replace(target, timing_s=60.0)
    tools = ProgramTools(
        traced_by(folder / "no-library.so"), judge, sanitizer, code_of, count, built_copy, at_once, left_s
    )
    return ProgramBench(target, folder / "versions", tools, original)


def edited(more: str, *, before: str = SOURCE) -> Edit:
    return edit_between("Change it", before, f"{before}// {more}\n")


def checked(bench: ProgramBench, more: str, *, before: str = SOURCE) -> Verification:
    edit = edited(more, before=before)
    return bench.check(bench.build(before), bench.build(edit.edited), edit)


def test_several_threads_may_build_versions_at_once(bench: ProgramBench) -> None:
    sources = [f"{SOURCE}// {number}\n" for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        versions = list(pool.map(bench.build, sources))
    assert len({version.folder for version in versions}) == 4
    assert [(version.folder / "built.cu").read_text() for version in versions] == sources


def test_a_tree_that_is_built_as_it_stands_is_the_original(tmp_path: Path) -> None:
    original = tmp_path / "original"
    bench = made(tmp_path, original=original)
    built_copy(tmp_path / "tree", original, "cp k.cu built.cu", {})
    assert bench.build(SOURCE).folder == original
    assert bench.build(SOURCE + "// FASTER\n").folder.parent == tmp_path / "versions"


def test_versions_are_built_in_copies_and_the_tree_stays(bench: ProgramBench, tmp_path: Path) -> None:
    before = state_of(tmp_path / "tree")
    version = bench.build(SOURCE + "// FASTER\n")
    assert (version.folder / "built.cu").read_text().endswith("// FASTER\n")
    bench.time(version, bench.build(SOURCE))
    assert state_of(tmp_path / "tree") == before
    assert not (tmp_path / "tree" / "built.cu").exists()


def test_a_build_that_fails_says_why(bench: ProgramBench) -> None:
    with pytest.raises(NotBuilt, match="error: MISTAKE"):
        bench.build(SOURCE + "// MISTAKE\n")


def test_only_the_kernel_of_the_trial_is_timed(bench: ProgramBench) -> None:
    timing = bench.time(bench.build(SOURCE), bench.build(SOURCE + "// FASTER\n"))
    assert (timing.original_ns, timing.variant_ns, timing.outcome) == (2000.0, 1000.0, "faster")


def test_the_original_alone_is_run_no_more_often_than_its_times_need(bench: ProgramBench) -> None:
    version = bench.build(SOURCE)
    timing = bench.time(version, version)
    assert (timing.original_ns, timing.variant_ns) == (2000.0, 2000.0)
    assert len(version.results) == timing.rounds == 3


def test_a_change_is_run_until_it_gains_for_sure_or_cannot_gain(bench: ProgramBench) -> None:
    for more, rounds in (("SAME", FIRST_LOOK), ("FASTER", FEW)):
        timing = bench.time(bench.build(SOURCE), bench.build(f"{SOURCE}// {more}\n"))
        assert timing.rounds == rounds
    unimportant = bench.time(bench.build(SOURCE), bench.build(f"{SOURCE}// FASTER\n"), least=2.5)
    assert unimportant.rounds == FIRST_LOOK
    slow = bench.time(bench.build(SOURCE + "// FASTER\n"), bench.build(SOURCE))
    assert (slow.outcome, slow.reason) == ("slower", "it is slower: 0.500x at most")


def test_two_versions_are_timed_once(bench: ProgramBench) -> None:
    original, faster = bench.build(SOURCE), bench.build(f"{SOURCE}// FASTER\n")
    assert bench.end_to_end(original, faster) is None
    timing = bench.time(original, faster)
    assert bench.time(original, faster) is timing
    assert len(original.results) == len(faster.results) == timing.rounds
    bench.time(faster, original)
    assert len(original.results) > timing.rounds
    gain = bench.end_to_end(original, faster)
    assert gain is not None
    assert 0 < gain.low <= gain.best <= gain.high


def test_without_time_left_two_versions_are_run_once(tmp_path: Path) -> None:
    bench = made(tmp_path, left_s=lambda: 0.0)
    original, faster = bench.build(SOURCE), bench.build(f"{SOURCE}// FASTER\n")
    timing = bench.time(original, faster)
    assert (timing.outcome, timing.rounds) == ("unclear", 1)
    assert bench.end_to_end(original, faster) is None


def test_tools_of_the_sanitizer_run_at_once_and_one_that_fails_so_runs_again_alone(tmp_path: Path) -> None:
    meeting, asked = Barrier(2 * len(TOOLS), timeout=20), list[str]()

    def examined(tool: str, folder: Path, program: Sequence[str], kernel: str) -> Printed:
        asked.append(tool)
        if len(asked) > 2 * len(TOOLS):
            return sanitizer(tool, folder, program, kernel)
        place = meeting.wait()
        return Printed("", ended=False) if place == 0 else sanitizer(tool, folder, program, kernel)

    bench = made(tmp_path, sanitizer=examined, at_once=Together(2 * len(TOOLS), lambda: None))
    edit = edited("FASTER")
    assert bench.check(bench.build(SOURCE), bench.build(edit.edited), edit).verdict == "verified"
    assert len(asked) == 2 * len(TOOLS) + 1


def test_the_original_is_examined_once_for_all_of_its_variants(tmp_path: Path) -> None:
    asked: list[tuple[str, Path]] = []

    def examined(tool: str, folder: Path, program: Sequence[str], kernel: str) -> Printed:
        asked.append((tool, folder))
        return sanitizer(tool, folder, program, kernel)

    bench = made(tmp_path, sanitizer=examined)
    original = bench.build(SOURCE)
    for more in ("one", "other"):
        edit = edited(more)
        assert bench.check(original, bench.build(edit.edited), edit).verdict == "verified"
    assert asked.count(("racecheck", original.folder)) == 1
    assert len(asked) == len(set(asked)) == 3 * len(TOOLS)


def test_a_version_is_disassembled_once(tmp_path: Path) -> None:
    asked: list[Path] = []

    def disassembled(folder: Path, _: Sequence[str], kernel: str) -> KernelCode:
        asked.append(folder)
        return KernelCode(kernel, kernel, "9.0", 40, 0, 0, 0, Code((), ()), ())

    bench = made(tmp_path, code_of=disassembled)
    one, other = bench.build(SOURCE), bench.build(SOURCE)
    assert [bench.registers(each) for each in (one, other, one)] == [40, 40, 40]
    assert asked == [one.folder, other.folder]


def test_what_is_judged_is_counted_then_and_judged_once(tmp_path: Path) -> None:
    judges: list[Path] = []

    def judge(folder: Path, program: Sequence[str], kernel: str) -> Judged:
        judges.append(folder)
        if "FAULT" in (folder / "built.cu").read_text():
            raise ProgramFailed("a kernel faulted while it was profiled")
        work = count(folder, program, kernel)
        assert work is not None
        return Judged(launch_with_advice(), work)

    source = f"{SOURCE}// COUNTED\n"
    bench = made(tmp_path, source=source, judge=judge)
    original, edit = bench.build(source), edited("FASTER", before=source)
    after = bench.build(edit.edited)
    assert bench.judge(original) is bench.judge(original)
    assert bench.check(original, after, edit).passed[-1] == "its stores and loads by counters"
    assert bench.judge(after) is not None
    assert judges == [original.folder, after.folder]
    edit = edited("FAULT", before=source)
    found = bench.check(original, bench.build(edit.edited), edit)
    assert (found.verdict, found.check) == ("unproven", "work")
    assert "a kernel faulted while it was profiled" in found.reason


@pytest.mark.parametrize(("more", "says"), [("LOST", "was not launched"), ("CRASH", "illegal memory access")])
def test_a_version_without_times_is_not_timed(bench: ProgramBench, more: str, says: str) -> None:
    with pytest.raises(NotTimed, match=says):
        bench.time(bench.build(SOURCE), bench.build(SOURCE + f"// {more}\n"))


def test_equal_output_files_launches_and_memory_are_verified(bench: ProgramBench) -> None:
    found = checked(bench, "FASTER")
    assert found.verdict == "verified"
    assert found.passed[0] == "equal output and 1 equal files in 2 runs"
    assert [each.rpartition(" ")[2] for each in found.passed[1:]] == ["memcheck", "racecheck", "synccheck"]


def test_a_change_may_add_parameters_to_the_kernel(bench: ProgramBench) -> None:
    assert checked(bench, "PARAMETER").verdict == "verified"
    assert checked(bench, "PARAMETER OFTEN").reason == "copy is launched 3 times instead of 2"


@pytest.mark.parametrize(
    ("more", "verdict", "says"),
    [
        ("WRONG", "refuted", "standard output"),
        ("FILE", "refuted", "the file out.txt"),
        ("OFTEN", "refuted", "copy is launched 3 times instead of 2"),
        ("CRASH", "refuted", "an illegal memory access"),
        ("RACE", "refuted", "racecheck finds Race reported between Write access"),
        ("BROKEN TOOL", "unproven", "memcheck did not start"),
    ],
)
def test_what_differs_is_refuted_and_what_failed_is_no_pass(
    bench: ProgramBench, more: str, verdict: str, says: str
) -> None:
    found = checked(bench, more)
    assert found.verdict == verdict
    assert says in found.reason


@pytest.mark.parametrize(
    ("source", "says"),
    [("CLOCK", "standard output differs from run to run: give --check"), ("SILENT", "prints nothing")],
)
def test_a_program_whose_output_says_nothing_proves_nothing(tmp_path: Path, source: str, says: str) -> None:
    before = f"{SOURCE}// {source}\n"
    found = checked(made(tmp_path, source=before), "FASTER", before=before)
    assert found.verdict == "unproven"
    assert says in found.reason


def test_the_users_check_decides(tmp_path: Path) -> None:
    before = f"{SOURCE}// CLOCK\n"
    bench = made(tmp_path, source=before, check="grep -q right out.txt")
    assert checked(bench, "FASTER", before=before).verdict == "verified"
    wrong = checked(bench, "FILE", before=before)
    assert (wrong.verdict, wrong.check) == ("refuted", "outputs")
    assert "grep -q right out.txt" in wrong.reason


def test_a_check_that_fails_on_the_original_proves_nothing(tmp_path: Path) -> None:
    found = checked(made(tmp_path, check="false"), "FASTER")
    assert (found.verdict, found.check) == ("unproven", "stability")


def test_results_that_differ_under_an_assumption_are_shown_apart(bench: ProgramBench) -> None:
    edit = replace(edited("WRONG"), assumes="single precision is enough", approximates=True)
    found = bench.check(bench.build(SOURCE), bench.build(edit.edited), edit)
    assert found.verdict == "unproven"
    assert "It assumes that single precision is enough" in found.reason
    exact = replace(edit, assumes="no index overflows its type", approximates=False)
    assert bench.check(bench.build(SOURCE), bench.build(exact.edited), exact).verdict == "refuted"


@pytest.mark.parametrize(
    ("more", "verdict", "says"),
    [
        ("FASTER", "verified", ""),
        ("EMPTY", "refuted", "it executes no global stores"),
        ("UNCOUNTED", "unproven", "its work was not counted: the profile holds no launch of copy"),
    ],
)
def test_counters_must_show_the_work_of_the_kernel(tmp_path: Path, more: str, verdict: str, says: str) -> None:
    before = f"{SOURCE}// COUNTED\n"
    found = checked(made(tmp_path, source=before), more, before=before)
    assert (found.verdict, found.reason) == (verdict, says)
    assert (found.passed[-1] == "its stores and loads by counters") is (verdict == "verified")


@pytest.mark.parametrize(
    ("mangled", "is_it"),
    [
        ("_Z4copyPf", True),
        ("_ZN3own4copyIfLi4EEEvPT_", True),
        ("copy", True),
        ("_Z14copyPf", False),
        ("_Z8copyBackPf", False),
        ("_Z5otherPf", False),
    ],
)
def test_mangled_names_are_those_of_the_kernel(mangled: str, is_it: bool) -> None:
    assert is_named(mangled, "own::copy<float, 4>") is is_it
