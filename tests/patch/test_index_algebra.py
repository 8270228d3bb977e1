"""Indices become polynomials; rows and columns, bounds and distinct elements are proven, or the proof is refused."""

from __future__ import annotations

import sys
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ncuview.patch.index_algebra import Algebra, Polynomial, check_injective, components, holds
from ncuview.patch.patch import Refused
from ncuview.patch.program import Kernel, Program, child, meaningful

pytest.importorskip("islpy")

BLOCK = (32, 8, 1)
SIZES = ("n", "m", "gridDim.x", "gridDim.y", "gridDim.z")


def kernel_of(body: str, parameters: str = "float *out, const float *in, int n, int m, unsigned u") -> Kernel:
    source = f"#define TILE 32\n__global__ void k({parameters})\n{{\n{body}\n}}\n"
    return Program.read(source, "a.cu").kernel("k")


def index_of(body: str) -> tuple[Algebra, Polynomial]:
    """The index of the last subscript that is assigned to."""
    kernel = kernel_of(body)
    algebra = Algebra(kernel, BLOCK)
    stores = [child(node, "left") for node in kernel.of_type("assignment_expression")]
    subscript = [node for node in stores if node.type == "subscript_expression"][-1]
    return algebra, algebra.polynomial(meaningful(child(subscript, "indices"))[0])


def name(text: str) -> Polynomial:
    return Polynomial.of(text)


GLOBAL = "int x = blockIdx.x * blockDim.x + threadIdx.x; int y = blockIdx.y * blockDim.y + threadIdx.y;"
X = name("blockIdx.x").times(32) + name("threadIdx.x")
Y = name("blockIdx.y").times(8) + name("threadIdx.y")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (GLOBAL + "out[y * n + x] = 0;", Y * name("n") + X),
        (GLOBAL + "const int pitch = n; out[(size_t)y * pitch + (x - 1)] = 0;", Y * name("n") + X + Polynomial.of(-1)),
        ("int t = threadIdx.x; out[t << 2] = 0;", name("threadIdx.x").times(4)),
        ("int t = threadIdx.x; out[static_cast<size_t>(t) * (TILE + 1)] = 0;", name("threadIdx.x").times(33)),
        ("int q = threadIdx.x / 4, r = threadIdx.x % 4; out[q * 4 + r] = 0;", name("threadIdx.x")),
        ("for (int j = 0; j < 4; j++) out[j * n] = 0;", name("j") * name("n")),
        ("for (int j = 0; j < 4; j++) in; for (int j = 4; j < 8; j++) out[0] = 0;", Polynomial({})),
    ],
)
def test_indices_are_polynomials(body: str, expected: Polynomial) -> None:
    assert index_of(body)[1] == expected


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("int x = threadIdx.x; x += 1; out[x] = 0;", "changes"),
        ("int x = in[0]; out[x] = 0;", "no sum of products"),
        ("out[threadIdx.x - 1] = 0;", "wrap around below zero"),
        ("out[u - threadIdx.x] = 0;", "wrap around below zero"),
        ("short x = threadIdx.x; out[x] = 0;", "no integer of 32 or 64 bits"),
        ("out[(unsigned char)threadIdx.x] = 0;", "casts an index to unsigned char"),
        ("out[(size_t)(n - 40)] = 0;", "may be negative"),
        ("out[(n - 1) / 4] = 0;", "divides what may be negative"),
        ("out[threadIdx.x / n] = 0;", "no constant"),
        ("out[threadIdx.x ^ 1] = 0;", "no sum of products"),
        ("out[f(n)] = 0;", "calls f"),
        ("for (int j = 0; j < n; j *= 2) out[j] = 0;", "count up by a constant"),
        ("for (int j = 0; j < n; j++) { out[j] = 0; j++; }", "changes its counter"),
        ("for (int j = 0; j < n; j++) { n = 3; out[j] = 0; }", "changes its counter or its bound"),
        ("for (char j = 0; j < 9; j++) out[j] = 0;", "no integer"),
    ],
)
def test_what_is_no_polynomial_is_refused(body: str, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        index_of(body)


def facts_of(body: str) -> tuple[Algebra, Polynomial, list[Polynomial]]:
    """Index, and the facts of all guards and loops around the store."""
    algebra, index = index_of(body)
    kernel = algebra.kernel
    facts = list(algebra.facts)
    for node in kernel.of_type("if_statement"):
        leaves = kernel.program.text(child(node, "consequence")) == "return;"
        facts += algebra.guard(meaningful(child(node, "condition"))[0], negated=leaves)
    for node in kernel.of_type("for_statement"):
        facts += algebra.counter(node).facts
    return algebra, index, facts


@pytest.mark.parametrize(
    "guard",
    [
        "if (x < n && y < m)",
        "if (n > x)",
        "if (!(x >= n || y >= m))",
        "if (x <= n - 1)",
        "if (x >= n) return;",
        "if (x >= n || y >= m) return;",
    ],
)
def test_a_guarded_index_has_a_row_and_a_column(guard: str) -> None:
    _, index, facts = facts_of(f"{GLOBAL} {guard} out[y * n + x] = 0;")
    assert components(index, SIZES, facts) == [Y, X]


@pytest.mark.parametrize(
    "guard", ["", "if (x < n + 1)", "if (x < m)", "if (x < n || y < m)", "if (x < n) return;", "if (y >= n) return;"]
)
def test_without_its_guard_a_column_may_exceed_the_row(guard: str) -> None:
    _, index, facts = facts_of(f"{GLOBAL} {guard} out[y * n + x] = 0;")
    with pytest.raises(Refused, match="a column may exceed its row of n elements"):
        components(index, SIZES, facts)


def test_three_dimensions_have_three_coordinates() -> None:
    body = GLOBAL + "int z = blockIdx.z; if (x < n && y < m) out[((size_t)z * m + y) * n + x] = 0;"
    _, index, facts = facts_of(body)
    assert components(index, SIZES, facts) == [name("blockIdx.z"), Y, X]


ONE_PLANE = [name("gridDim.z").times(-1) + Polynomial.of(1)]


@pytest.mark.parametrize(
    "body",
    [
        GLOBAL + "if (x < n && y < m) out[y * n + x] = 0;",
        GLOBAL + "if (x < n && y < m) out[x * m + y] = 0;",
        (
            "int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;"
            "for (int j = 0; j < 32; j += 8) if (x < n && y + j < m) out[x * m + (y + j)] = 0;"
        ),
        (
            "int t = threadIdx.y * 32 + threadIdx.x, r = t / 16, c = t % 16;"
            "if (blockIdx.x * 16 + c < n) out[(blockIdx.y * 16 + r) * n + blockIdx.x * 16 + c] = 0;"
        ),
        GLOBAL + "if (x < n && y < m) out[2 * (y * n + x)] = 0;",
        GLOBAL + "if (x < n && y < m) out[(2 * y + 1) * n + x] = 0;",
    ],
)
def test_distinct_threads_are_proven_to_use_distinct_elements(body: str) -> None:
    algebra, index, facts = facts_of(body)
    check_injective(index, SIZES, [*facts, *algebra.facts, *ONE_PLANE])


@pytest.mark.parametrize(
    "body",
    [
        GLOBAL + "if (x < n && y < m) out[y * n] = 0;",
        GLOBAL + "if (x < n && y < m) out[y * n + x / 2] = 0;",
        GLOBAL + "if (x < n && y < m) out[x + y] = 0;",
        (
            "int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;"
            "if (x < n && y < m) out[y * n + x] = 0;"
        ),
        GLOBAL + "for (int j = 0; j < 2; j++) if (x < n && y < m) out[y * n + x] = 0;",
        GLOBAL + "for (int j = 0; j < 32; j += 4) if (x < n && y + j < m) out[(y + j) * n + x] = 0;",
        "int q = threadIdx.x / 2; if (q < n) out[threadIdx.y * n + q] = 0;",
    ],
)
def test_elements_that_two_threads_use_are_found(body: str) -> None:
    algebra, index, facts = facts_of(body)
    with pytest.raises(Refused, match="may use one element"):
        check_injective(index, SIZES, [*facts, *algebra.facts, *ONE_PLANE])


def test_planes_that_the_index_leaves_out_are_found() -> None:
    algebra, index, facts = facts_of(GLOBAL + "if (x < n && y < m) out[y * n + x] = 0;")
    with pytest.raises(Refused, match=r"blockIdx\.z"):
        check_injective(index, SIZES, [*facts, *algebra.facts])


def test_a_negative_number_compared_with_an_unsigned_one_gives_no_fact() -> None:
    _, _, facts = facts_of("int x = threadIdx.x; int d = n - 64; if (d < u) return; out[x] = 0;")
    assert not holds(name("n") - Polynomial.of(64) - name("u"), facts)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 4), st.integers(1, 4), st.integers(0, 5), st.integers(0, 5), st.integers(-3, 3), st.integers(1, 3)
)
def test_what_is_proven_is_true_for_all_small_launches(
    width: int, height: int, a: int, b: int, c: int, step: int
) -> None:
    """Affine indices of a block of width x height and a loop: the proof says distinct only where counting does."""
    kernel = kernel_of(
        f"int x = threadIdx.x, y = threadIdx.y;"
        f"for (int j = 0; j < 4; j += {step}) out[{a} * x + {b} * y + ({c}) * j] = 0;"
    )
    algebra = Algebra(kernel, (width, height, 1))
    (subscript,) = kernel.of_type("subscript_expression")
    index = algebra.polynomial(meaningful(child(subscript, "indices"))[0])
    (loop,) = kernel.of_type("for_statement")
    one_block = [name(f"gridDim.{axis}").times(-1) + Polynomial.of(1) for axis in "xyz"]
    facts = [*algebra.facts, *algebra.counter(loop).facts, *one_block]
    used = [a * x + b * y + c * j for x, y, j in product(range(width), range(height), range(0, 4, step))]
    try:
        check_injective(index, SIZES, facts)
        proven = True
    except Refused:
        proven = False
    assert proven == (len(set(used)) == len(used))


def test_without_islpy_the_edit_is_refused_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "islpy", None)
    with pytest.raises(Refused, match=r"pip install 'ncuview\[try\]'"):
        holds(name("n"), [name("m")])
