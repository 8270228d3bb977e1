"""Which launches of a long program are profiled, and that their weights add up to the program's launches."""

from __future__ import annotations

import random
import re
from collections import Counter
from itertools import takewhile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import UsageError
from ncuview.profiling.sampling import (
    SAME_DURATION,
    ExecutionConfiguration,
    Sample,
    configurations_of,
    first_run,
    launches_of_second_run,
    representatives,
    sampled_invocations,
    samples,
    second_run,
)
from tests.builders import Launch, make_profile
from tests.profiles import recorded_profile

NAMES = st.from_regex(r"[A-Za-z_]\w{0,8}", fullmatch=True)
CONFIGURATIONS = [
    ExecutionConfiguration(kernel, (grid, 1, 1), (256, 1, 1), 0)
    for kernel in ("add", "scale", "sum")
    for grid in (64, 128)
]
PROGRAMS = st.dictionaries(st.sampled_from(CONFIGURATIONS), st.integers(1, 3000), min_size=1)


def ncu_picks(kernel_id: str, configuration: ExecutionConfiguration, invocation: int) -> bool:
    """What ncu does with CONTEXT:STREAM:[regex:]NAME:INVOCATION; numbers must match completely."""
    context, stream, rest = kernel_id.split(":", 2)
    name, _, number = rest.rpartition(":")
    assert (context, stream) == ("", "")
    if name.startswith("regex:"):
        named = bool(re.search(name.removeprefix("regex:"), configuration.kernel))
    else:
        named = name in {"", configuration.kernel}
    return named and bool(re.fullmatch(number, str(invocation)))


def ran(program: dict[ExecutionConfiguration, int], seed: int = 0) -> list[tuple[ExecutionConfiguration, int]]:
    """The launches of a program in some order, each with its number among its kernel's, as ncu 2025.3.1 counts."""
    order = [configuration for configuration, times in program.items() for _ in range(times)]
    random.Random(seed).shuffle(order)
    counted: Counter[str] = Counter()
    launches = []
    for configuration in order:
        counted[configuration.kernel] += 1
        launches.append((configuration, counted[configuration.kernel]))
    return launches


def first_run_of(program: dict[ExecutionConfiguration, int], seed: int = 0) -> list[tuple[ExecutionConfiguration, int]]:
    return [launch for launch in ran(program, seed) if ncu_picks(first_run(), *launch)]


def test_the_numbers_have_one_leading_digit() -> None:
    assert list(takewhile(lambda number: number <= 300, sampled_invocations())) == [
        *range(1, 10),
        *range(10, 100, 10),
        *range(100, 301, 100),
    ]


@given(number=st.integers(1, 10**7))
def test_ncu_picks_exactly_these_numbers(number: int) -> None:
    listed = number in takewhile(lambda picked: picked <= number, sampled_invocations())
    assert ncu_picks(first_run(), CONFIGURATIONS[0], number) is listed


@given(program=PROGRAMS, seed=st.integers(0, 9))
def test_samples_know_their_numbers_and_stand_for_the_program(
    program: dict[ExecutionConfiguration, int], seed: int
) -> None:
    profiled = first_run_of(program, seed)
    seen = samples([configuration for configuration, _ in profiled])
    assert [(sample.configuration, sample.invocation) for sample in seen] == profiled
    assert all(sample.stands_for >= 1 for sample in seen)
    of_kernels: Counter[str] = Counter()
    for configuration, times in program.items():
        of_kernels[configuration.kernel] += times
    for kernel, times in of_kernels.items():
        counted = sum(sample.stands_for for sample in seen if sample.configuration.kernel == kernel)
        if times < 10:
            assert counted == times
        assert counted / 1.5 <= times <= counted * 1.5


@given(program=PROGRAMS)
def test_few_launches_are_profiled_for_any_number_of_iterations(program: dict[ExecutionConfiguration, int]) -> None:
    assert len(first_run_of(program)) <= sum(9 * len(str(times)) for times in program.values())


@given(program=PROGRAMS, seed=st.integers(0, 9), data=st.data())
def test_the_second_run_picks_one_launch_of_each_wanted_configuration_at_least(
    program: dict[ExecutionConfiguration, int], seed: int, data: st.DataObject
) -> None:
    seen = samples([configuration for configuration, _ in first_run_of(program, seed)])
    durations = data.draw(st.lists(st.floats(1, 1e6), min_size=len(seen), max_size=len(seen)))
    selected = data.draw(st.sets(st.integers(0, len(seen) - 1), min_size=1))
    positions = representatives(seen, durations, selected)
    chosen = [seen[position] for position in positions]
    assert positions == sorted(positions)
    assert Counter(sample.configuration for sample in chosen) == Counter({seen[at].configuration for at in selected})
    picked = [launch for launch in ran(program, seed) if ncu_picks(second_run(chosen), *launch)]
    assert picked == [(seen[at].configuration, seen[at].invocation) for at in launches_of_second_run(chosen, seen)]
    assert set(positions) <= set(launches_of_second_run(chosen, seen))


def seen_with(*weights: float) -> list[Sample]:
    return [Sample(CONFIGURATIONS[0], number, weight) for number, weight in enumerate(weights, start=1)]


@pytest.mark.parametrize(
    ("weights", "durations", "chosen"),
    [
        ((1, 1, 1), (10.0, 10.2, 9.8), 0),  # all the same: the first
        ((1, 1, 1), (100.0, 10.0, 10.5), 1),  # the first one is slow, so it is not typical
        ((1, 1, 50), (10.0, 10.0, 99.0), 2),  # what most launches are like
    ],
)
def test_a_representative_takes_as_long_as_most_launches_do(
    weights: tuple[float, ...], durations: tuple[float, ...], chosen: int
) -> None:
    assert representatives(seen_with(*weights), durations, [0]) == [chosen]


@given(durations=st.lists(st.floats(1, 1e6), min_size=1, max_size=20))
def test_a_representative_is_near_the_median(durations: list[float]) -> None:
    (chosen,) = representatives(seen_with(*[1] * len(durations)), durations, [0])
    median = sorted(durations)[(len(durations) - 1) // 2]
    assert abs(durations[chosen] - median) <= SAME_DURATION * median


def test_only_the_named_kernels_are_sampled() -> None:
    kernel = CONFIGURATIONS[0]._replace(kernel="matmul_tiled")
    assert ncu_picks(first_run("regex:matmul"), kernel, 20)
    assert not ncu_picks(first_run("regex:matmul"), kernel, 21)
    assert not ncu_picks(first_run("matmul"), kernel, 1)


@pytest.mark.parametrize("name", ["space::kernel", "regex:(?:a|b)"])
def test_a_name_that_ncu_would_cut_at_its_colon_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="colon"):
        first_run(name)


@given(names=st.sets(NAMES, min_size=1, max_size=4), other=NAMES)
def test_the_second_run_picks_no_kernel_of_another_name(names: set[str], other: str) -> None:
    chosen = [Sample(CONFIGURATIONS[0]._replace(kernel=name), 1, 1.0) for name in names]
    assert ncu_picks(second_run(chosen), CONFIGURATIONS[0]._replace(kernel=other), 1) is (other in names)


def test_configurations_distinguish_launches_by_grid_and_shared_memory() -> None:
    profile = make_profile(
        Launch(),
        Launch(),
        Launch(metrics={"launch__grid_dim_x": 7.0}),
        Launch(metrics={"launch__shared_mem_per_block": 1024.0}),
        Launch(kernel="other"),
    )
    first, second, *others = configurations_of(profile)
    assert first == second == ExecutionConfiguration("kernel", (8192, 1, 1), (256, 1, 1), 5120)
    assert len({first, *others}) == 4


def test_a_recorded_family_has_a_configuration_for_each_launch_of_its_own() -> None:
    profile = recorded_profile("transpose")
    seen = samples(configurations_of(profile))
    assert [sample.stands_for for sample in seen] == [1.0] * len(profile.launches)
    chosen = [seen[at] for at in representatives(seen, profile.launches["duration_ns"].tolist(), range(len(seen)))]
    assert {sample.configuration for sample in chosen} == set(configurations_of(profile))
