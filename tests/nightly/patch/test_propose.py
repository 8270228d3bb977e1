"""From a finding to an edit: which change is made, and sources that are hard to parse."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ncuview.catalogue.kernels import all_kernels
from ncuview.patch import PATCHES, Edit, NoEdit, propose
from tests.patch.building import applied, refusal, sass
from tests.together import together

PADDING = "pad_tile"
PLAIN = "__global__ void k(float *a) {{ {} }}\n"
QUICK_S = 20.0
"""Against minutes: the machine may be busy, and this is no measurement."""


@together("patch", sorted(PATCHES))
def test_every_change_has_an_answer_for_a_kernel_of_the_catalogue(patch: str) -> None:
    for kernel in all_kernels()[::9]:
        source = kernel.path.read_text(encoding="utf-8")
        made = propose(source, kernel.path.name, kernel.function, patch, list(range(1, source.count("\n"))))
        assert isinstance(made, Edit) or made.reason


@pytest.mark.parametrize(
    ("kernel", "patch"),
    [
        ("transposeCoalesced", PADDING),
        ("localArray", "unroll"),
        ("mayAlias", "restrict"),
        ("registerSpill", "launch_bounds"),
        ("doubleLiteral", "float_literals"),
        ("preciseSine", "fast_functions"),
        ("preciseDivision", "fast_functions"),
    ],
)
def test_kernels_of_the_catalogue_are_edited_and_compile(kernel: str, patch: str, tmp_path: Path) -> None:
    found = next(each for each in all_kernels() if each.name == kernel)
    source = found.path.read_text(encoding="utf-8")
    every = list(range(1, source.count("\n") + 1))
    made = propose(source, found.path.name, kernel, patch, every)
    assert isinstance(made, Edit), made
    sass(applied(source, made, tmp_path), tmp_path / "compiled", kernel)


@pytest.mark.parametrize("name", ["k", "void k<float>(T1 *)", "ns::k", "k(float *)"])
def test_a_kernel_is_found_under_the_names_that_profiles_give_it(name: str) -> None:
    reason = propose(PLAIN.format("a[0] = 0;"), "a.cu", name, PADDING, [])
    assert isinstance(reason, NoEdit)
    assert "__shared__" in reason.reason


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("", "does not define the kernel k"),
        ("void k() {}", "does not define the kernel k"),
        ("#define GLOBAL __global__\nGLOBAL void k() {}", "does not define the kernel k"),
        (PLAIN.format("") * 2, "more than once"),
        (PLAIN.format("a[0] = = 1;"), "without its preprocessor"),
        (PLAIN.format("UNROLLED(8) a[0] = 1;"), "without its preprocessor"),
        ("\0" + PLAIN.format(""), "NUL"),
        ("\ud800" + PLAIN.format(""), "not text"),
        (PLAIN.format("a[0] = " + "(" * 5000 + "1" + ")" * 5000 + ";"), "nested too deeply"),
        (PLAIN.format("a[0] = " + "1+" * 5000 + "1;"), "nested too deeply"),
        (PLAIN.format("{" * 3000 + "}" * 3000), "nested too deeply"),
        (PLAIN.format("") + "// " + "x" * 1_000_000, "more than a hand-written source"),
    ],
    ids=[
        "empty",
        "host",
        "macro",
        "twice",
        "error",
        "statement macro",
        "NUL",
        "surrogate",
        "brackets",
        "sum",
        "braces",
        "large",
    ],
)
def test_sources_that_are_not_understood_are_refused(source: str, reason: str) -> None:
    assert reason in refusal(source, PADDING)


@pytest.mark.parametrize(
    "text",
    [
        "(" * 900_000,
        "<" * 300_000,
        '"' * 100_001,
        "template <" * 40_000,
        "#if 1\n" * 60_000,
        "/*" + "*" * 800_000,
        "a<b>" * 100_000,
        "__global__ void k(" * 20_000,
        "\\\n" * 200_000,
        'R"x(' + ")" * 500_000,
    ],
    ids=[
        "brackets",
        "angles",
        "quotes",
        "templates",
        "conditions",
        "comment",
        "less or more",
        "kernels",
        "joined",
        "raw",
    ],
)
def test_megabytes_of_nonsense_end_soon(text: str) -> None:
    started = time.monotonic()
    made = propose(PLAIN.format("a[0] = 0;") + text, "a.cu", "k", PADDING, [])
    assert isinstance(made, NoEdit)
    assert time.monotonic() - started < QUICK_S


@settings(max_examples=150)
@given(
    st.lists(
        st.sampled_from(
            [
                *"(){}[]<>;,*&=+-./%\"'#\n\\ ",
                *("__global__ ", "void ", "k", "__shared__ ", "float ", "for", "if", "0.5", "32", "threadIdx.x", "a["),
                *("tile", "<<<", ">>>", "#define ", "template ", "return ", "dim3 ", "int ", "//", "/*"),
            ]
        ),
        max_size=60,
    ),
    st.sampled_from(sorted(PATCHES)),
)
def test_no_text_raises(parts: list[str], patch: str) -> None:
    text = "".join(parts)
    for source in (
        text,
        PLAIN.format(text),
        PLAIN.format("__shared__ float tile[32][32]; tile[threadIdx.x][0] = 1;" + text),
    ):
        made = propose(source, "a.cu", "k", patch, [1])
        assert isinstance(made, Edit | NoEdit)


def test_nothing_is_loaded_before_a_source_is_read() -> None:
    import subprocess
    import sys

    program = "import ncuview.patch, sys; print('tree_sitter' in sys.modules, 'pandas' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]
