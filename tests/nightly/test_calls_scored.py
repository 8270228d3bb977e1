"""Advice for programs is scored as its page says, and the labels fit their programs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from ncuview.programs.advise import advise
from ncuview.records.profile import Frame
from ncuview.records.program import Call, Change, ProgramLaunch
from tests.programs.sequences import launch, product

cases = pytest.importorskip("validation.calls.cases", reason="needs the programs in validation/")
labels = pytest.importorskip("validation.calls.labels")
score = pytest.importorskip("validation.calls.score")
recorded = pytest.importorskip("validation.calls.recorded")
syntax = pytest.importorskip("validation.calls.syntax")

CHANGES = get_args(Change)

PROGRAM = """\
def step(x, w, b):
    y = x * w
    y = y + b
    y = torch.exp(
        y,
    )
    y = y - 1.0
    return y

def other(x):
    return x

def before(state):
    return step(*state)
"""
CHAIN = [
    launch(operator, 400, 400, us=1000, line=line, callers=(Frame("before", "train.py", 14),))
    for operator, line in (("mul", 2), ("add", 3), ("exp", 4), ("sub", 7))
]
"""Four elementwise launches in a row from lines of the program."""
GAIN = advise(CHAIN)[0].gain.best
FUSE = {"name": "before", "right": "fuse", "after": "after", "call": "y = y + b", "saves": "time"}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program, whose step took 4 ms, and 1 ms after the change."""
    source = tmp_path / "train.py"
    source.write_text(PROGRAM)
    steps = {"before": {"kernel_ms": 4.0, "wall_ms": 4.2}, "after": {"kernel_ms": 1.0, "wall_ms": 1.4}}
    same = {"same": {"kernel_ms": 3.99, "wall_ms": 4.19}}
    monkeypatch.setitem(labels.times(), "train", {**steps, **same})
    return source


def case(source: Path, launches: Sequence[ProgramLaunch], **label: Any) -> Any:
    made = recorded.Recorded("q900", "before", "H200", 1, 1.0, 1.0, tuple(launches))
    return cases.case_of(made, source, {"name": "before", **label})


def test_right_advice_at_the_line(source: Path) -> None:
    found = case(source, CHAIN, **FUSE)
    assert found.label == cases.Label(("fuse",), 4.0, finished=False, negative_example="")
    assert [(each.change, each.where) for each in found.ours] == [("fuse", "line")]
    assert found.ours[0].gain == pytest.approx(GAIN)
    assert score.OURS.factor(found) == pytest.approx(max(GAIN / 4, 4 / GAIN))


@pytest.mark.parametrize(
    ("call", "where"),
    [
        ("    y,", "line"),
        ("return y", "near"),
        ("return step(*state)", "near"),
        ("return x", "elsewhere"),
    ],
    ids=["within a statement of several lines", "the same function", "the line that calls it", "another function"],
)
def test_the_nearest_call_counts(source: Path, call: str, where: str) -> None:
    found = case(source, CHAIN, **{**FUSE, "call": call})
    assert [each.where for each in found.ours] == [where]


def test_a_line_that_calls_a_compiled_function_is_near(source: Path) -> None:
    """Of what jit compiled, the stack has the call alone."""
    compiled = [
        replace(each, call=replace(each.call, line=14, function="before", callers=())) for each in CHAIN if each.call
    ]
    found = case(source, compiled, **FUSE)
    assert [each.where for each in found.ours] == ["near"]
    found = case(source, compiled, **{**FUSE, "call": "return x"})
    assert [each.where for each in found.ours] == ["elsewhere"]


CUDA = """\
#include "step.cuh"

struct State {
    float *y;
};

__global__ void scale(float *y) { *y *= 2; }

void layer(State &state)
{
    for (int i = 0; i < 3; ++i) {
        scale<<<1, 1>>>(
            state.y);
        shift(state.y);
    }
}

void step(State &state)
{
    layer(state);
}

void other(State &state)
{
    shift(state.y);
}
"""


@pytest.fixture
def cuda_source(tmp_path: Path) -> Path:
    source = tmp_path / "train.cu"
    source.write_text(CUDA)
    return source


def test_statements_and_functions_of_cuda(cuda_source: Path) -> None:
    code = syntax.code_of(cuda_source)
    assert [(each.name, *each.place) for each in code.functions] == [
        ("scale", 7, 7),
        ("layer", 9, 16),
        ("step", 18, 21),
        ("other", 23, 26),
    ]
    assert code.statements_with("state.y);") == [(12, 13), (14, 14), (25, 25)]
    assert code.statements_with("int i = 0") == [(11, 11)]
    assert code.calls_of_function_with(12) == {20}
    assert code.calls_of_function_with(20) == set()


@pytest.mark.parametrize(
    ("function", "line", "text", "where"),
    [
        ("layer(State&)", 12, "state.y);", "line"),
        ("layer(State&)", 0, "scale<<<1, 1>>>(", "near"),
        ("layer(State&)", 0, "layer(state);", "near"),
        ("step(State&)", 0, "scale<<<1, 1>>>(", "near"),
        ("other(State&)", 0, "scale<<<1, 1>>>(", "elsewhere"),
        ("void (anonymous namespace)::layer<float>(State&)", 0, "scale<<<1, 1>>>(", "near"),
    ],
    ids=["its line", "its function", "the line that calls it", "it calls the line's function", "another", "a template"],
)
def test_native_calls_name_the_program(cuda_source: Path, function: str, line: int, text: str, where: str) -> None:
    """The compiled program bears the name of its source, and lines are known in some builds alone."""
    launches = [replace(each, call=Call("train", line, function)) for each in CHAIN]
    found = case(cuda_source, launches, **{**FUSE, "call": text})
    assert [each.where for each in found.ours] == [where]
    assert [each.where for each in found.trivial] == [where]


def test_wall_time_is_compared_with_wall_time(source: Path) -> None:
    found = case(source, CHAIN, **{**FUSE, "saves": "wall"})
    assert found.label.measured == pytest.approx(3.0)
    saved_ns = advise(CHAIN)[0].saved_ns.best
    assert found.ours[0].gain == pytest.approx(4.2e6 / (4.2e6 - saved_ns))


def test_the_measurement_decides(source: Path) -> None:
    in_vain = case(source, CHAIN, **{**FUSE, "after": "same"})
    assert in_vain.label == cases.Label((), 1.0, finished=False, negative_example="fuse")
    gains = case(source, CHAIN, finished=True, negative_example="fuse", negative_after="after")
    assert gains.label == cases.Label(("fuse",), 4.0, finished=False, negative_example="")


def test_the_trivial_predictor_says_fuse_at_the_costliest_line(source: Path) -> None:
    costly = [*CHAIN, product(us=10_000, line=14, function="before")]
    (advice,) = case(source, costly, **{**FUSE, "call": "return step(*state)"}).trivial
    assert advice == cases.Advice("fuse", cases.mean_gain(), "line")


def test_counts_of_a_made_up_set(source: Path) -> None:
    nothing = [product(line=14, function="before", us=2000)] * 2
    found = [
        case(source, CHAIN, **FUSE),
        case(source, CHAIN, **{**FUSE, "right": "attention", "accepted": ["fuse"], "call": "return x"}),
        case(source, CHAIN, **{**FUSE, "right": "attention"}),
        case(source, nothing, **FUSE),
        case(source, CHAIN, finished=True, negative_example="fuse", negative_after="same"),
        case(source, nothing, finished=True),
    ]
    ours = score.figures(score.OURS, found)
    off = f"{max(GAIN / 4, 4 / GAIN):.2f}"
    assert ours == {
        "first change right": "2 of 4 (15% to 85%)",
        "first change right, at the line": "1 of 4 (5% to 70%)",
        "first change right, near the line": "0 of 4 (0% to 49%)",
        "first change right, elsewhere": "1 of 4 (5% to 70%)",
        "right among the first three": "2 of 4 (15% to 85%)",
        "right first: gain off by, median": f"{off} of 2",
        "right first: gain off by, geometric mean": f"{off} of 2",
        "right first: gain within 1.25": "2 of 2 (34% to 100%)",
        "all pairs: gain off by, median": f"{off} of 4",
        "all pairs: gain off by, geometric mean": f"{(max(GAIN / 4, 4 / GAIN) ** 3 * 4) ** 0.25:.2f} of 4",
        "all pairs: gain within 1.25": "3 of 4 (30% to 95%)",
        "advice on finished variants": "1 of 2 (9% to 91%)",
        "advice on negative examples": "1 of 1 (21% to 100%)",
    }
    trivial = score.figures(score.TRIVIAL, found)
    assert trivial["first change right"] == "3 of 4 (30% to 95%)"
    assert trivial["advice on finished variants"] == "2 of 2 (34% to 100%)"
    assert [score.OURS.misses(each) for each in found] == [False, True, True, True, True, False]


def test_misses_of_all_sets_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(score.GROUPS, "opened on 2026-11-26", score.GROUPS[labels.IN_VIEW])
    chain = [launch("mul", 400, 400, us=400, line=line) for line in range(2, 6)]
    made = recorded.Recorded("q002", "after", "H200", 1, 1.0, 1.0, tuple(chain))
    text = score.page({recorded.Step("q002", "after"): made})
    assert text.count("| q002 | after | nothing | fuse") == 2
    assert text.count("0 pairs, 1 finished, 0 negative examples, 1 misses") == 2
    assert "## Opened on 2026-11-26, q001 to q034: 1 of 80 labelled variants recorded" in text


def wrong_labels(program: str) -> Iterator[str]:
    """What is wrong with the labels of a program."""
    source = labels.sources()[program]
    code, variants = syntax.code_of(source), variants_of(source)
    if not variants:
        yield f"{program}: VARIANTS"
    for number, label in enumerate(labels.labels_of(source).values()):
        others = {label.get(key) for key in ("name", "after", "negative_after")} - {None}
        if not others <= variants:
            yield f"{program}, label {number}: a variant that there is not"
        if ("right" in label) == bool(label.get("finished")) or ("right" in label) != ("after" in label):
            yield f"{program}, label {number}: neither to change nor finished"
        if not {label.get("right"), *label.get("accepted", []), label.get("negative_example")} <= {*CHANGES, None}:
            yield f"{program}, label {number}: a change that there is not"
        if ("negative_example" in label) != ("negative_after" in label):
            yield f"{program}, label {number}: half a negative example"
        if "right" in label and not labels.texts_of(label):
            yield f"{program}, label {number}: no line"
        if not all(code.statements_with(text) for text in labels.texts_of(label)):
            yield f"{program}, label {number}: a line that there is not"


def variants_of(source: Path) -> set[str]:
    """The variants that a program can run; empty where they cannot be found."""
    text = source.read_text(encoding="utf-8")
    if source.suffix == ".cu":
        functions = {function.name for function in syntax.code_of(source).functions}
        return functions & set(re.findall(r'\{"(\w+)", \1\}', text))
    tables = [node.value for node in ast.parse(text).body if isinstance(node, ast.Assign) and is_table(node)]
    if len(tables) != 1 or not isinstance(tables[0], ast.Dict):
        return set()
    return {key.value for key in tables[0].keys if isinstance(key, ast.Constant) and isinstance(key.value, str)}


def is_table(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "VARIANTS" for target in node.targets)


def test_labels_fit_their_programs() -> None:
    wrong = [each for program in labels.sources() for each in wrong_labels(program)]
    assert not wrong


def test_each_program_is_in_a_group() -> None:
    assert sorted(program for group in labels.GROUPS for program in labels.programs_of(group)) == [*labels.sources()]
