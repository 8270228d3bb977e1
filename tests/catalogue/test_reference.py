"""All oracles at once: each fits the kernels that name it, and the answers agree with one another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.catalogue.kernels import Launch, all_kernels, launch_of
from ncuview.catalogue.reference import ORACLES, Array, Problem
from tests.together import together

M32 = 1 << 32
TINY: Mapping[str, int] = {
    "n": 4096,
    "threads": 256,
    "particles": 2048,
    "rounds": 32,
    "steps": 20,
    "passes": 3,
    "rows": 512,
    "m": 64,
    "words": 1024,
    "records": 16,
    "terms": 4,
    "blocks": 2,
    "block": 256,
    "stride": 2,
}
"""Sizes that keep every oracle below a hundredth of a second; where a kernel has others, it keeps its own."""
SQUARE = {"n": 128, "pitch": 160, "w": 256, "h": 256}
"""As ``TINY``, for matrices and images."""
FEW = {"n": 8}
"""As ``TINY``, for a batch of matrices."""

BY_ORACLE = {kernel.text.oracle: kernel for kernel in reversed(all_kernels())}
TOLERANT = {kernel.text.oracle for kernel in all_kernels() if kernel.text.tolerance}


def tiny_launch(name: str) -> Launch:
    """The first kernel that names the oracle, at sizes that a test can wait for."""
    kernel = BY_ORACLE[name]
    shape = next(argument.kind for argument in kernel.text.args if argument.kind.startswith(("out", "zeroed")))
    extra = FEW if shape.endswith("[n, m]") else SQUARE if "," in shape else {}
    chosen = {**TINY, **extra}
    return launch_of(kernel, {size: chosen.get(size, value) for size, value in kernel.text.sizes.items()})


def given_array(argument: Mapping[str, Any], seed: int) -> Array:
    """An input of the kind that a kernel file asks for."""
    random, dtype = np.random.default_rng(seed), np.dtype(argument["dtype"])
    if argument["below"] or dtype.kind in "ui":
        numbers: Array = random.integers(0, argument["below"] or M32, argument["shape"])
    else:
        numbers = random.random(argument["shape"])
    return numbers.astype(dtype)


def problem_of(launch: Launch) -> Problem:
    (out,) = (argument for argument in launch.args if argument["role"] in {"out", "zeroed"})
    inputs = [argument for argument in launch.args if "below" in argument]
    arrays = tuple(given_array(argument, seed) for seed, argument in enumerate(inputs))
    return Problem(arrays, tuple(out["shape"]), out["dtype"], launch.sizes)


@together("name", ORACLES)
def test_an_answer_has_the_shape_and_type_of_the_kernels_output(name: str) -> None:
    problem = problem_of(tiny_launch(name))
    result = ORACLES[name](problem)
    assert result.shape == problem.shape
    # Outputs are compared bit by bit, unless a tolerance lets more precise numbers stand for them.
    assert result.dtype == problem.dtype or (name in TOLERANT and result.dtype == np.float64)
    assert result.dtype.kind != "f" or np.isfinite(result).all() or name == "transpose_padded_CPU"


@together("name", ORACLES)
def test_an_oracle_repeats_its_answer_and_does_not_change_its_inputs(name: str) -> None:
    problem = problem_of(tiny_launch(name))
    before = tuple(array.copy() for array in problem.inputs)
    first = ORACLES[name](problem).copy()
    np.testing.assert_array_equal(ORACLES[name](problem), first)
    for now, then in zip(problem.inputs, before, strict=True):
        np.testing.assert_array_equal(now, then)


@together("name", sorted(ORACLES.keys() - {"untouched", "last_round_per_sector", "sum_of_lanes"}))
def test_an_answer_depends_on_what_is_given(name: str) -> None:
    problem = problem_of(tiny_launch(name))
    inputs = tuple(np.roll(array, 1) for array in problem.inputs)
    if name in {"histogram_CPU", "count_of_bits"}:
        inputs = tuple(array // 2 for array in problem.inputs)
    other = ORACLES[name](Problem(inputs, problem.shape, problem.dtype, problem.sizes))
    assert not np.array_equal(other.view(np.uint8), ORACLES[name](problem).view(np.uint8))


def test_every_oracle_is_asked_by_a_kernel() -> None:
    assert ORACLES.keys() == BY_ORACLE.keys()


def answer(name: str, *inputs: Array, shape: tuple[int, ...] = (), **sizes: int) -> Array:
    return ORACLES[name](Problem(inputs, shape or inputs[0].shape, inputs[0].dtype.name, sizes))


def words(count: int, seed: int, below: int = M32) -> Array:
    return np.random.default_rng(seed).integers(0, below, count).astype(np.uint32)


def whole_numbers(*shape: int, seed: int) -> Array:
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.float32)


seeds = st.integers(0, M32 - 1)
lengths = st.integers(1, 150)


@given(lengths, lengths, seeds)
def test_a_matrix_transposed_twice_is_the_matrix(rows: int, columns: int, seed: int) -> None:
    matrix = whole_numbers(rows, columns, seed=seed)
    once = answer("transpose_CPU", matrix, shape=(columns, rows))
    assert [once[columns - 1, 0], once[0, rows - 1]] == [matrix[0, columns - 1], matrix[rows - 1, 0]]
    np.testing.assert_array_equal(answer("transpose_CPU", once, shape=(rows, columns)), matrix)


@given(lengths, st.integers(0, 40), seeds)
def test_a_padded_transpose_is_the_transpose_of_the_square_part(n: int, padding: int, seed: int) -> None:
    matrix = whole_numbers(n, n + padding, seed=seed)
    padded = answer("transpose_padded_CPU", matrix)
    square = np.ascontiguousarray(matrix[:, :n])
    np.testing.assert_array_equal(padded[:, :n], answer("transpose_CPU", square))
    assert np.isnan(padded[:, n:]).all()


@given(st.integers(1, 20), st.integers(1, 50), seeds)
def test_all_block_sums_together_are_the_sum_of_everything(blocks: int, each: int, seed: int) -> None:
    numbers = whole_numbers(blocks * each, seed=seed)
    sums = answer("block_sums", numbers, shape=(blocks,))
    assert sum(sums.tolist()) == sum(int(number) for number in numbers)
    assert sums[0] == sum(int(number) for number in numbers[:each])


@given(st.integers(1, 500), st.sampled_from([1, 4, 256]), seeds)
def test_a_histogram_has_as_many_entries_as_there_are_words(count: int, values: int, seed: int) -> None:
    given_words = words(count, seed, below=values)
    counts = answer("histogram_CPU", given_words, shape=(256,))
    assert int(counts.sum()) == count
    assert counts[values:].tolist() == [0] * (256 - values)
    assert counts[given_words[0]] == given_words.tolist().count(int(given_words[0]))


@given(st.integers(1, 500), seeds)
def test_bits_that_are_set_and_bits_that_are_not_are_all_bits(count: int, seed: int) -> None:
    given_words = words(count, seed)
    bits = [int(answer("count_of_bits", each, shape=(2,)).view(np.uint64)[0]) for each in (given_words, ~given_words)]
    assert sum(bits) == 32 * count
    assert bits[0] == sum(word.bit_count() for word in given_words.tolist())


@given(st.integers(1, 30), st.integers(0, 40), seeds)
def test_a_generator_is_stepped_in_every_round(count: int, rounds: int, seed: int) -> None:
    given_words = words(count, seed)
    want = given_words.tolist()
    for _ in range(rounds):
        want = [(value * 1664525 + 1013904223) % M32 for value in want]
    assert answer("lcg_rounds", given_words, rounds=rounds).tolist() == want


@given(seeds)
def test_rows_of_a_matrix_are_columns_of_its_transpose(seed: int) -> None:
    matrices, signal = whole_numbers(3, 32, 32, seed=seed), whole_numbers(32, seed=seed + 1)
    turned = np.ascontiguousarray(matrices.transpose(0, 2, 1))
    rows = answer("apply_signal_to_rows", matrices, signal, shape=(3, 32))
    np.testing.assert_array_equal(answer("apply_signal_to_columns", turned, signal, shape=(3, 32)), rows)
    assert rows[2, 5] == sum(int(a) * int(b) for a, b in zip(matrices[2, 5], signal, strict=True))


@given(st.integers(1, 12), st.integers(1, 12), seeds)
def test_a_matrix_times_the_identity_is_the_matrix(rows: int, inner: int, seed: int) -> None:
    matrix = whole_numbers(rows, inner, seed=seed)
    identity = np.eye(inner, dtype=np.float32)
    np.testing.assert_array_equal(answer("matrix_product", matrix, identity, shape=(rows, inner)), matrix)


@given(seeds)
def test_one_field_has_the_same_sums_in_an_array_of_structures_and_a_structure_of_arrays(seed: int) -> None:
    structures = whole_numbers(512, 4, seed=seed)
    arrays = np.ascontiguousarray(structures.T)
    of_structures = answer("sums_of_structure_field", structures, shape=(64,))
    np.testing.assert_array_equal(answer("sums_of_array_field", arrays, shape=(64,)), of_structures)


@pytest.mark.parametrize("name", ["sums_of_elements", "sums_of_permuted", "sums_of_scattered", "sums_of_strided"])
@given(seed=seeds)
def test_a_pattern_that_reads_every_element_once_adds_up_to_all_of_them(name: str, seed: int) -> None:
    elements = whole_numbers(2048, seed=seed)
    assert answer(name, elements, shape=(256,), stride=8).sum() == elements.sum()


@given(seeds)
def test_the_ring_of_sums_is_linear(seed: int) -> None:
    one, other = words(9, seed), words(9, seed + 1)
    zero = np.zeros(9, np.uint32)
    ring = {each.tobytes(): answer("ring_of_sums", each, rounds=3) for each in (one, other, one + other, zero)}
    np.testing.assert_array_equal(
        ring[(one + other).tobytes()] + ring[zero.tobytes()], ring[one.tobytes()] + ring[other.tobytes()]
    )


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_a_rotation_by_90_degrees_keeps_the_brightness_of_a_square_image(degrees: int) -> None:
    image = np.random.default_rng(7).random((16, 16), dtype=np.float32)
    turned = answer("rotated_image", image, degrees=degrees)
    assert turned.mean() == pytest.approx(image.mean(), abs=1e-5)


def test_an_image_of_one_brightness_has_no_edges_and_stays_the_same_when_rotated() -> None:
    flat = np.full((12, 12), 7, np.int32)
    assert not answer("sobel_edges", flat, threshold=0).any()
    np.testing.assert_allclose(answer("rotated_image", flat.astype(np.float32), degrees=37), flat, rtol=1e-6)
