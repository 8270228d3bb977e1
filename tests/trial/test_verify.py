"""The verdict from what the process and the sanitizer left, over a process that is scripted line by line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from ncuview.base.at_once import IN_TURN
from ncuview.base.errors import CompileFailed
from ncuview.catalogue.kernel_file import Kernel, load_kernels
from ncuview.catalogue.kernels import find_kernel, launch_of
from ncuview.catalogue.launcher.inputs import PATTERNS
from ncuview.trial.cases import Build, Reordering, further_sizes, job_of, small_sizes
from ncuview.trial.sanitizer import TOOLS, Printed
from ncuview.trial.verify import Answer, verify, wrong_launches
from tests.trial.emulated import FINDINGS, Source

Line = dict[str, Any]
Change = Callable[[Line], Line | None]


def build(name: str = "transposeNaive") -> Build:
    kernel = find_kernel(name)
    return Build(kernel, Source(kernel.path, kernel))


def lines_of(job: Mapping[str, Any], change: Change) -> list[Line]:
    """The lines of a job in which all goes well, but for what ``change`` makes of each launch's line; None ends it."""
    lines: list[Line] = []
    for number, case in enumerate(job["cases"]):
        outputs = sum(argument["role"] in {"out", "zeroed"} for argument in case["arguments"])
        for key in case["launches"]:
            orders = job["orders"] if job["reordered"] and key == "original" else 0
            for run in range(2 + orders):
                about = {"case": number, "key": key, "run": run}
                same = {
                    "elements": 0,
                    "first": [],
                    "expected": "",
                    "found": "",
                    "ulp": 0,
                    "absolute": 0.0,
                    "allowed": 0.0,
                }
                differences = [dict(same) for _ in range(outputs if (key, run) != ("original", 0) else 0)]
                well = {
                    "error": "",
                    "guards": [],
                    "inputs": [],
                    "poison": 0,
                    "crc": [number],
                    "differences": differences,
                }
                lines.append({**about, "begins": True})
                line = change({**about, **well})
                if line is None:
                    return lines
                lines.append(line)
                if line["error"]:
                    return lines
    return [*lines, {"ended": True}]


def answering(change: Change, failure: str = "") -> Callable[[Mapping[str, Any]], Answer]:
    return lambda job: Answer(lines_of(job, change), failure)


def clean(tool: str, job: Mapping[str, Any]) -> Printed:
    summary = "RACECHECK SUMMARY: 0 hazards displayed" if tool == "racecheck" else "ERROR SUMMARY: 0 errors"
    return Printed(f"========= COMPUTE-SANITIZER\n========= {summary}\n", ended=True)


def of(key: str, run: int | None = None, **changed: Any) -> Change:
    return lambda line: line | changed if line["key"] == key and run in {None, line["run"]} else line


def ending(key: str) -> Change:
    return lambda line: None if line["key"] == key else line


def wrong(line: Line) -> Line:
    first = {"elements": 3, "first": [2, 1], "expected": "1.0", "found": "nan"}
    return line | {"differences": [each | first for each in line["differences"]]}


def verified(change: Change = lambda line: line, failure: str = "", **more: Any) -> Any:
    return verify(build(), build(), answering(change, failure), clean, **more)


def test_no_objection_is_verified_with_its_cases() -> None:
    found = verified()
    assert (found.verdict, found.check, found.reason) == ("verified", "", "")
    assert [case for case in found.cases if case.startswith("n = 8192")] == [f"n = 8192, {each}" for each in PATTERNS]
    assert len(found.cases) == 6 * len(PATTERNS)


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (of("variant", error="an illegal memory access was encountered"), "launch"),
        (of("variant", guards=["odata"]), "guards"),
        (of("variant", inputs=["idata"]), "inputs"),
        (of("variant", poison=5), "poison"),
        (lambda line: wrong(line) if line["key"] == "variant" else line, "outputs"),
        (
            lambda line: wrong(line) if (line["key"], line["case"], line["run"]) == ("variant", 4, 1) else line,
            "outputs",
        ),
        (ending("variant"), "launch"),
    ],
)
def test_each_check_refutes(change: Change, check: str) -> None:
    found = verified(change)
    assert (found.verdict, found.check) == ("refuted", check)
    assert found.reason


def test_the_first_wrong_element_is_the_counterexample() -> None:
    found = verified(lambda line: wrong(line) if line["key"] == "variant" and line["case"] == 2 else line)
    example = found.counterexample
    assert (example.case, example.output, example.index, example.elements) == ("n = 8192, zeros", "odata", (2, 1), 3)
    assert (example.expected, example.found) == ("1.0", "nan")
    assert found.reason == "odata[2, 1] is nan instead of 1.0 at n = 8192, zeros"


@pytest.mark.parametrize(
    ("change", "check"),
    [
        (of("original", error="out of memory"), "process"),
        (of("original", guards=["odata"]), "process"),
        (of("original", inputs=["idata"]), "process"),
        (lambda line: wrong(line) if line["key"] == "original" else line, "stability"),
        (
            lambda line: line | {"error": "illegal"} if (line["key"], line["case"]) == ("original", 2) else line,
            "process",
        ),
        (of("original", crc=[7]), "process"),
        (ending("original"), "process"),
        (lambda line: None, "process"),
    ],
)
def test_what_cannot_be_compared_is_unproven(change: Change, check: str) -> None:
    found = verified(change)
    assert (found.verdict, found.check) == ("unproven", check)
    assert found.reason


def test_a_process_that_failed_is_no_pass() -> None:
    complete = verified(failure="it did not end within 60 s")
    assert complete.verdict == "refuted"
    nothing = verify(build(), build(), lambda job: Answer([], "it did not start"), clean)
    assert (nothing.verdict, nothing.check, nothing.reason) == ("unproven", "process", "it did not start")
    partial = verify(
        build(), build(), lambda job: Answer([*lines_of(job, lambda line: line)[:20], {"ended": True}]), clean
    )
    assert (partial.verdict, partial.check) == ("unproven", "process")


def test_a_further_size_at_which_the_original_fails_is_left_out() -> None:
    def at(job: Mapping[str, Any]) -> Answer:
        small = "8192" not in job["cases"][0]["name"]
        return Answer(lines_of(job, of("original", error="illegal") if small else lambda line: line))

    found = verify(build(), build(), at, clean)
    assert found.verdict == "verified"
    assert len(found.cases) == len(PATTERNS)
    assert [each.partition(":")[0] for each in found.unused] == ["n = 4096", "n = 2048", "n = 32", "n = 64", "n = 96"]


def test_contents_that_the_original_does_not_take_are_left_out() -> None:
    def at(job: Mapping[str, Any]) -> Answer:
        names = [case["name"] for case in job["cases"]]
        fails = [number for number, name in enumerate(names) if name.endswith(("extremes", "zeros"))]
        number = fails[0] if fails else -1
        return Answer(lines_of(job, lambda line: line | {"error": "illegal"} if line["case"] == number else line))

    found = verify(build(), build(), at, clean, sizes=[{"n": 64}])
    assert found.verdict == "verified"
    assert found.cases == ("n = 64, random", "n = 64, other random", "n = 64, ramp")
    assert found.unused == (
        "n = 64, zeros: the original fails: illegal",
        "n = 64, extremes: the original fails: illegal",
    )


def test_a_launch_that_is_not_defined_at_a_size_is_refuted(tmp_path: Path) -> None:
    kernel = edited(build().kernel, tmp_path, 'grid = ["n / 32",', 'grid = ["n / 8192",')
    found = verify(build(), Build(kernel, Source(kernel.path, kernel)), answering(lambda line: line), clean)
    assert (found.verdict, found.check) == ("refuted", "launch")
    assert "n = 4096" in found.reason


def edited(kernel: Kernel, folder: Path, before: str, after: str) -> Kernel:
    path = folder / kernel.text.family / kernel.path.name
    path.parent.mkdir()
    path.write_text(kernel.path.read_text(encoding="utf-8").replace(before, after), encoding="utf-8")
    return load_kernels(path)[0]


def test_reordered_sums_need_the_original_in_more_orders() -> None:
    orders = [Reordering("idata", 1)]
    assert verified(reordered=orders).verdict == "verified"
    # The second launch is judged by the orders after it, whose results may not leave the widest tolerance.
    assert verified(lambda line: wrong(line) if line["run"] == 1 else line, reordered=orders).verdict == "refuted"
    own = verified(
        lambda line: wrong(line) if (line["key"], line["run"]) == ("original", 1) else line, reordered=orders
    )
    assert own.verdict == "verified"
    far = verified(lambda line: wrong(line) if line["run"] == 5 else line, reordered=orders)
    assert (far.verdict, far.check) == ("unproven", "process")
    assert "widest tolerance" in far.reason


@pytest.mark.parametrize(("tool", "kind"), [("memcheck", "memory"), ("racecheck", "race"), ("synccheck", "barrier")])
def test_only_new_findings_of_a_tool_refute(tool: str, kind: str) -> None:
    original, variant = build(), build()
    other = replace(variant, compiled=Source(Path("other.cubin"), variant.kernel))

    def printing(*dirty: str) -> Callable[[str, Mapping[str, Any]], Printed]:
        def printed(asked: str, job: Mapping[str, Any]) -> Printed:
            name = "variant" if job["cases"][0]["launches"]["original"]["cubin"] == "other.cubin" else "original"
            run = clean(asked, job)
            finding = FINDINGS[kind] if asked == tool and name in dirty else ""
            output = run.output.replace("SANITIZER\n", f"SANITIZER\n{finding}")
            return replace(run, output=output.replace(": 0", ": 1") if finding else output)

        return printed

    process = answering(lambda line: line)
    assert verify(original, other, process, printing()).verdict == "verified"
    assert verify(original, other, process, printing("original", "variant")).verdict == "verified"
    found = verify(original, other, process, printing("variant"))
    assert (found.verdict, found.check) == ("refuted", tool)


def test_a_sanitizer_that_crashes_is_unproven() -> None:
    def crashed(tool: str, job: Mapping[str, Any]) -> Printed:
        return Printed("========= COMPUTE-SANITIZER\n========= Internal Sanitizer Error\n", ended=False)

    found = verify(build(), build(), answering(lambda line: line), crashed)
    assert (found.verdict, found.check) == ("unproven", "memcheck")


class Threads:
    """Makes calls at once, in a thread each, and shows that all run together."""

    def __init__(self, calls: int) -> None:
        self.together = Barrier(calls, timeout=20)

    def __call__(self, calls: Sequence[Callable[[], None]]) -> None:
        with ThreadPoolExecutor(len(calls)) as pool:
            for each in [pool.submit(call) for call in calls]:
                each.result()


def test_the_runs_of_the_sanitizer_may_be_made_at_once() -> None:
    threads = Threads(6)
    asked: list[str] = []

    def waiting(tool: str, job: Mapping[str, Any]) -> Printed:
        asked.append(tool)
        threads.together.wait()
        return clean(tool, job)

    found = verify(build(), build(), answering(lambda line: line), waiting, at_once=threads)
    assert found.verdict == "verified"
    assert sorted(asked) == sorted([*TOOLS, *TOOLS])


@pytest.mark.parametrize(("fails", "verdict"), [(1, "verified"), (3, "unproven")])
def test_a_run_that_fails_beside_others_is_made_once_more_alone(fails: int, verdict: str) -> None:
    asked: list[str] = []

    def crowded(tool: str, job: Mapping[str, Any]) -> Printed:
        asked.append(tool)
        failed = tool == "racecheck" and asked.count(tool) <= fails
        return Printed("", ended=False) if failed else clean(tool, job)

    def in_turn(calls: Sequence[Callable[[], None]]) -> None:
        for call in calls:
            call()

    found = verify(build(), build(), answering(lambda line: line), crowded, at_once=in_turn)
    assert found.verdict == verdict
    assert {tool: asked.count(tool) for tool in TOOLS} == {"memcheck": 2, "racecheck": 3, "synccheck": 2}


def test_a_finding_beside_others_refutes() -> None:
    def dirty(tool: str, job: Mapping[str, Any]) -> Printed:
        variant = job["cases"][0]["launches"]["original"]["cubin"] == "other.cubin"
        run = clean(tool, job)
        if tool != "racecheck" or not variant:
            return run
        output = run.output.replace("SANITIZER\n", f"SANITIZER\n{FINDINGS['race']}").replace(": 0", ": 1")
        return replace(run, output=output)

    other = replace(build(), compiled=Source(Path("other.cubin"), build().kernel))
    found = verify(build(), other, answering(lambda line: line), dirty, at_once=Threads(6))
    assert (found.verdict, found.check) == ("refuted", "racecheck")


def test_the_sanitizer_runs_at_the_smallest_size_of_several_blocks() -> None:
    sizes: list[str] = []

    def watched(tool: str, job: Mapping[str, Any]) -> Printed:
        sizes.extend(case["name"] for case in job["cases"])
        return clean(tool, job)

    verify(build(), build(), answering(lambda line: line), watched)
    assert set(sizes) == {"n = 2048, random"}


def test_further_sizes_are_defined_and_one_is_no_multiple_where_the_launch_allows_it() -> None:
    assert further_sizes(find_kernel("transposeNaive")) == [{"n": 4096}, {"n": 2048}]
    first, second = further_sizes(find_kernel("scalarLoads"))
    assert first["n"] % 256
    assert second["n"] < 16777216


def test_no_further_size_changes_the_block() -> None:
    assert further_sizes(find_kernel("emptyKernel")) == []
    assert {sizes["threads"] for sizes in further_sizes(find_kernel("reduce_v1"))} == {256}


def test_small_sizes_keep_blocks_and_contents() -> None:
    transpose, histogram = find_kernel("transposeNaive"), find_kernel("histogram_global")
    assert small_sizes(transpose, transpose) == [{"n": 32}, {"n": 64}, {"n": 96}]
    assert small_sizes(histogram, histogram)[:2] == [
        {"n": 1, "values": 256, "blocks": 1},
        {"n": 2, "values": 256, "blocks": 2},
    ]
    nothing = find_kernel("emptyKernel")
    assert small_sizes(nothing, nothing) == []


def test_small_sizes_are_those_at_which_the_variant_has_a_launch(tmp_path: Path) -> None:
    kernel = find_kernel("count_global")
    variant = edited(kernel, tmp_path, '["n / 256"]', '["n / 1024"]')
    assert [each["n"] for each in small_sizes(kernel, kernel)] == [256, 512, 768]
    assert [each["n"] for each in small_sizes(kernel, variant)] == [1024, 2048, 3072]


@pytest.mark.parametrize("at_once", [IN_TURN, lambda calls: [call() for call in reversed(calls)]])
def test_an_edit_that_is_wrong_in_its_second_round_alone_is_refuted(at_once: Any) -> None:
    def wrong_variant(line: Line) -> Line:
        return wrong(line) if line["key"] == "variant" else line

    def second(job: Mapping[str, Any]) -> Answer:
        is_second = job["cases"][0]["name"].startswith("n = 64,")
        return Answer(lines_of(job, wrong_variant if is_second else lambda line: line))

    found = verify(build(), build(), second, clean, at_once=at_once)
    assert (found.verdict, found.check, found.counterexample.case) == ("refuted", "outputs", "n = 64, random")  # type: ignore[union-attr]
    assert len(found.cases) == 5 * len(PATTERNS)


def test_a_size_for_which_the_original_has_no_template_instance_is_left_out() -> None:
    class OwnSizeOnly(Source):
        def symbol(self, template: Sequence[int] = ()) -> str:
            if list(template) != [256]:
                raise CompileFailed("reduce_shuffle.cu holds no kernel reduce_shuffle<128>")
            return super().symbol(template)

    kernel = find_kernel("reduce_shuffle")
    own = Build(kernel, OwnSizeOnly(kernel.path, kernel))
    sizes = [kernel.text.sizes, kernel.text.sizes | {"threads": 128}]
    found = verify(own, own, answering(lambda line: line), clean, sizes=sizes)
    assert (found.verdict, len(found.unused)) == ("verified", 1)
    assert all(each["threads"] == 256 for each in further_sizes(kernel))


def test_the_group_of_a_sum_follows_the_sizes() -> None:
    orders = [Reordering("d_idata", 0, "tile * threads"), Reordering("d_idata", 0)]
    job = job_of({"original": build("reduce_shuffle")}, find_kernel("reduce_shuffle").text.sizes, reordered=orders)
    assert [each["group"] for each in job["reordered"]] == [2048, 0]


def test_a_job_names_arguments_and_has_a_case_for_each_pattern() -> None:
    job = job_of({"original": build("histogram_global")}, find_kernel("histogram_global").text.sizes)
    assert [case["name"].rpartition(", ")[2] for case in job["cases"]] == list(PATTERNS)
    assert [each["name"] for each in job["cases"][0]["arguments"]] == ["in", "histogram", "n"]
    assert len(job_of({"original": build("emptyKernel")}, find_kernel("emptyKernel").text.sizes)["cases"]) == 1


Seen = Sequence[tuple[str, tuple[int, int, int], tuple[int, int, int]]]


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        ([("transposeNaive", (256, 256, 1), (32, 8, 1))] * 2, ""),
        ([("transposeNaive", (256, 256, 1), (32, 8, 1))], "1 times, not 2"),
        ([], "0 times, not 2"),
        ([("other", (256, 256, 1), (32, 8, 1))] * 2, "other was launched"),
        ([("transposeNaive", (128, 256, 1), (32, 8, 1))] * 2, "with grid"),
    ],
)
def test_launches_of_a_profile_are_those_that_were_meant(seen: Seen, reason: str) -> None:
    found = wrong_launches(launch_of(find_kernel("transposeNaive")), 2, seen)
    assert reason in found
    assert bool(found) == bool(reason)
