"""The page and the document of the report without counters."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NoReturn

import pytest

from ncuview.catalogue.live import EventTimes
from ncuview.metrics.occupancy import Occupancy
from ncuview.pipeline.without_counters import (
    CodePlace,
    KernelFacts,
    LaunchFacts,
    MissingPart,
    RuleSubject,
    WithoutCounters,
)
from ncuview.records.diagnosis import RuleId
from ncuview.records.profile import Failure
from ncuview.render.without_counters import without_counters_document, without_counters_page
from tests.hostile import each_hostile_text, poisoned
from tests.render.sample import ladder
from tests.render.schema import problems as problems_of

KERNEL = ladder().steps[0].kernel
PERM = Failure("NCU-PERM", "Only administrators may read this GPU's counters", "Set the option, or ask for it.", 5)


def facts(**changed: Any) -> KernelFacts:
    usual = KernelFacts(
        name=KERNEL,
        symbol=f"_Z{len(KERNEL)}{KERNEL}PfPKfi",
        capability="9.0",
        registers=28,
        stack=0,
        spilled=(0, 0),
        shared=4096,
        barriers=1,
        instructions=64,
        threads=256,
        occupancy=Occupancy(6, 0.75, {"warps": 8, "blocks": 32, "registers": 6, "shared memory": 6}),
        subjects=(
            RuleSubject(
                rule=RuleId("INST004", "double-in-float-code"),
                optimization="lower_precision",
                says="66 conversions between single and double precision, in a loop",
                in_loop=True,
                where=(CodePlace("transpose/k.cu", 52, "x = x * 0.999;"), CodePlace("transpose/k.cu", 53, "x += 0.1;")),
            ),
        ),
    )
    return replace(usual, **changed)


def sample(**changed: Any) -> WithoutCounters:
    usual = WithoutCounters(
        subject=KERNEL,
        refusal=PERM,
        launch=LaunchFacts(KERNEL, (256, 256, 1), (32, 8, 1), 1024, {"n": 8192}, 62.06, 1634.2, "GB/s"),
        times=EventTimes("NVIDIA H100 80GB HBM3", "9.0", 132, (330e3, 328.5e3, 335e3)),
        kernels=(facts(),),
        missing=(MissingPart("machine code", Failure("ToolError", "it failed:\n  twice.", "Try again.", 5)),),
        remark="the results were not checked",
        ladder=ladder(),
    )
    return replace(usual, **changed)


def bare(**changed: Any) -> WithoutCounters:
    nothing = sample(launch=None, times=None, kernels=(), missing=(), remark="", ladder=None)
    return replace(nothing, **changed)


def page(report: WithoutCounters, width: int = 100) -> str:
    return without_counters_page(report, width=width, color=False)


def refuse_constant(name: str) -> NoReturn:
    raise AssertionError(f"{name} is not JSON")


def document(report: WithoutCounters) -> Any:
    return json.loads(without_counters_document(report), parse_constant=refuse_constant)


def problems(content: Any) -> list[Any]:
    return problems_of(content, "without_counters")


def test_page_and_document_stay_as_they_are(golden: Callable[[str, str], None]) -> None:
    golden("without_counters.txt", page(sample()))
    golden("without_counters.json", without_counters_document(sample()))


@pytest.mark.parametrize(
    "report",
    [
        sample(),
        bare(),
        bare(refusal=None, kernels=(facts(occupancy=None, spilled=None, subjects=()),)),
        sample(launch=replace(sample().launch, waves=None, useful_rate=None)),  # type: ignore[type-var]
    ],
)
def test_every_document_is_as_the_schema_says(report: WithoutCounters) -> None:
    assert not problems(document(report))
    assert document(report)["schema"] == "ncuview.without_counters/2"


def test_the_schema_takes_nothing_else() -> None:
    assert problems({**document(sample()), "gain": 2.0})
    assert problems({**document(sample()), "kernels": [{}]})


def test_the_document_has_what_the_page_rounds() -> None:
    found = document(sample())
    assert found["error"] == {"id": "NCU-PERM", "message": PERM.message, "hint": PERM.hint, "exit_code": 5}
    assert (found["times"]["median_ns"], found["times"]["low_ns"], found["times"]["high_ns"]) == (330e3, 328.5e3, 335e3)
    assert found["kernels"][0]["occupancy"]["limited_by"] == ["registers", "shared memory"]
    assert found["kernels"][0]["spilled"] == {"store_bytes": 0, "load_bytes": 0}
    assert found["recorded_ladder"]["schema"] == "ncuview.ladder/2"
    assert len(found["recorded_ladder"]["steps"]) == len(ladder().steps)


def test_the_remedy_comes_before_all_facts() -> None:
    lines = page(sample()).splitlines()
    at = {word: next(n for n, line in enumerate(lines) if word in line) for word in ("Remedy", "Time", "Code", "Shows")}
    assert lines[2] == "No counters: Only administrators may read this GPU's counters [NCU-PERM]."
    assert at["Remedy"] == 3
    assert sorted(at, key=lambda word: at[word]) == ["Remedy", "Time", "Code", "Shows"]
    assert "`ncuview doctor` finds which of these applies here." in " ".join(page(sample()).split())


def test_what_was_not_refused_has_no_remedy() -> None:
    assert "ncu was not started, as requested" in page(bare(refusal=None))
    assert "Remedy" not in page(bare(refusal=None))


def test_no_gain_is_predicted_from_code_alone() -> None:
    shown = page(sample(ladder=None))
    assert "No gain is predicted: only counters show what these cost." in shown
    assert "faster" not in shown
    assert "x\n" not in shown


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (facts(), "75% of the warp slots at most: 6 blocks fit, limited by registers and shared memory"),
        (
            facts(occupancy=Occupancy(8, 1.0, {"warps": 8, "blocks": 32})),
            "100% of the warp slots at most: 8 blocks fit",
        ),
        (
            facts(occupancy=Occupancy(1, 0.5, {"warps": 2, "registers": 1})),
            "50% of the warp slots at most: one block fits",
        ),
        (
            facts(occupancy=Occupancy(0, 0.0, {"warps": 2, "registers": 0})),
            "no block of 256 threads fits: too much of registers",
        ),
        (facts(occupancy=None, capability="13.0"), "unknown: the limits of compute capability 13.0 are not known"),
        (facts(spilled=None), "spills that cannot be distinguished from arrays in local memory"),
        (facts(spilled=(228, 152), stack=152), "228 bytes of spill stores and 152 of loads, 152 bytes of local memory"),
        (facts(barriers=4, shared=0), "no spills, 4 barriers"),
        (facts(barriers=0, subjects=()), "4,096 bytes of static shared memory Occupied 75%"),
        (facts(capability="8.0"), "here some may be missed"),
    ],
)
def test_each_state_of_a_kernel_has_its_words(kernel: KernelFacts, words: str) -> None:
    assert words in " ".join(page(sample(kernels=(kernel,), ladder=None)).split())


def test_of_a_program_each_kernel_has_its_name_and_its_best_block_size() -> None:
    shown = page(bare(kernels=tuple(facts(name=f"k{n}") for n in range(12))))
    assert "75% of the warp slots at most: with blocks of 256 threads, limited by" in " ".join(shown.split())
    assert [line for line in shown.splitlines() if line.startswith("k")] == [f"k{n}" for n in range(10)]
    assert "k10, k11: --format json shows them" in shown


@pytest.mark.parametrize(("rate", "words"), [(1634.2, "1,634 GB/s useful"), (7.781, "7.78 GB/s useful")])
def test_the_useful_rate_has_the_digits_of_a_ladder(rate: float, words: str) -> None:
    launch = sample().launch
    assert launch
    assert words in " ".join(page(sample(launch=replace(launch, useful_rate=rate))).split())


def test_what_a_launch_does_not_have_is_left_out() -> None:
    launch = LaunchFacts(KERNEL, (4, 1, 1), (32, 1, 1), 0, {}, None, None, "GB/s")
    shown = page(sample(launch=launch))
    assert f"{KERNEL}  grid 4, block 32\n" in shown
    assert "useful\n" not in shown
    assert "Time" not in page(sample(times=None))


def test_a_failure_is_shown_on_one_line() -> None:
    assert "Missing  machine code: it failed: twice. Try again." in page(sample())


def test_of_the_ladder_the_kernel_and_what_it_leads_to_are_shown() -> None:
    first, *others = ladder().steps
    shown = page(sample())
    assert first.better in page(sample(), 120)
    unreached = [
        r.kernel for r in others if r.kernel not in {first.better, *(step.kernel for step in first.textbook_steps)}
    ]
    assert not [name for name in unreached if f" {name} " in shown]
    assert f"ncuview ladder {ladder().family} --recorded" in shown


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    assert max(map(len, page(sample(), width).splitlines())) <= width


@each_hostile_text
def test_hostile_text_is_inert(text: str) -> None:
    report = poisoned(sample(ladder=None), text)
    shown = page(report)
    assert all(character == "\n" or character.isprintable() for character in shown)
    assert not any(line.startswith(("::", "##[")) for line in shown.splitlines())
    assert document(report)["kernels"][0]["name"] == text.encode("utf-16", "surrogatepass").decode(
        "utf-16", "surrogatepass"
    )
