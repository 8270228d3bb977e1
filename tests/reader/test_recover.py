"""Where NVIDIA's reader fails, all that it can read is read, and the rest is named, in text too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import ReportUnreadable
from ncuview.reader import recover as module
from ncuview.reader.child import Failure, Shard
from ncuview.reader.columns import Answer, LaunchColumns, Reading
from ncuview.reader.framing import LaunchHeader
from ncuview.reader.recover import Damage, Salvaged, salvage, salvage_together
from ncuview.reader.snapshot import Snapshot

CRASHED = "crashed NVIDIA's reader (signal 11)"


class Reader:
    """Fails at some launches with their code, at others always, and leaves out those that it finds damaged."""

    def __init__(
        self,
        in_code: Iterable[int] = (),
        always: Iterable[int] = (),
        left_out: Mapping[int, str] | None = None,
        failing: Failure | None = None,
    ) -> None:
        self._in_code, self._always = set(in_code), set(always)
        self._left_out, self._failing = left_out or {}, failing
        self.asked: list[tuple[int, int, bool]] = []

    def read(self, shards: Sequence[Shard], *, with_code: bool) -> list[Answer | Failure]:
        (shard,) = shards
        return [self.answer(shard, with_code=with_code)]

    def answer(self, shard: Shard, *, with_code: bool) -> Answer | Failure:
        assert shard.launches, "a shard without launches is never read"
        self.asked.append((shard.start, shard.stop, with_code))
        launches = range(shard.start, shard.stop)
        if self._failing:
            return self._failing
        for launch in launches:
            if launch in self._always or (with_code and launch in self._in_code):
                return Failure(launch, CRASHED)
        left_out = {launch: why for launch, why in self._left_out.items() if launch in launches}
        read = [launch for launch in launches if launch not in left_out]
        texts = ["k"] * len(read)
        columns = LaunchColumns(read, texts, texts, texts, (), (), (), [0] * len(read), [()] * len(read))
        return Answer(Reading(shard.results, ["k"], columns), left_out)


class Readers:
    """A reader for each report; a process that fails at one gives no answer for those after it."""

    def __init__(self, readers: Mapping[Snapshot, Reader]) -> None:
        self._readers = readers
        self.batches: list[int] = []

    def read(self, shards: Sequence[Shard], *, with_code: bool) -> list[Answer | Failure]:
        self.batches.append(len(shards))
        found: list[Answer | Failure] = []
        for shard in shards:
            found.append(self._readers[shard.report].answer(shard, with_code=with_code))
            if isinstance(found[-1], Failure):
                return found + [found[-1]] * (len(shards) - len(found))
        return found


@pytest.fixture(scope="module")
def report() -> Snapshot:
    return Snapshot.of([b"x"])


def shard_of(report: Snapshot, count: int, damaged: Iterable[int] = (), start: int = 0) -> Shard:
    launches = [
        LaunchHeader(10, "k", 0, 3, f"block {each}" if each in set(damaged) else "") for each in range(start, count)
    ]
    return Shard(report, start, tuple(launches), count)


def read_launches(found: Salvaged) -> list[int]:
    return [launch for reading in found.readings for launch in reading.launches.index]


def test_what_can_be_read_is_read_in_one_go(report: Snapshot) -> None:
    reader = Reader()
    found = salvage(shard_of(report, 9, start=4), reader)
    assert reader.asked == [(4, 9, True)]
    assert (read_launches(found), found.lost, found.without_code) == ([4, 5, 6, 7, 8], {}, {})


def test_without_its_code_comes_before_without_a_launch(report: Snapshot) -> None:
    reader = Reader(in_code=[3])
    found = salvage(shard_of(report, 6), reader)
    assert reader.asked == [(0, 6, True), (0, 6, False)]
    assert read_launches(found) == list(range(6))
    assert found.lost == {}
    assert found.without_code == dict.fromkeys(range(6), f"launch 3 {CRASHED}")


def test_around_a_launch_on_which_the_reader_always_fails_all_are_read_with_their_code(report: Snapshot) -> None:
    reader = Reader(always=[2])
    found = salvage(shard_of(report, 6), reader)
    assert reader.asked == [(0, 6, True), (0, 6, False), (0, 2, True), (3, 6, True)]
    assert read_launches(found) == [0, 1, 3, 4, 5]
    assert found.lost == {2: f"launch 2 {CRASHED}"}
    assert found.without_code == {}


@given(st.integers(1, 12), st.data())
def test_every_launch_is_read_or_lost_with_a_reason(count: int, data: st.DataObject) -> None:
    some = st.sets(st.integers(0, count - 1), max_size=4)
    in_code, always, left_out, damaged = (data.draw(some) for _ in range(4))
    shard = shard_of(Snapshot.of([b"x"]), count, damaged)
    found = salvage(shard, Reader(in_code, always, dict.fromkeys(left_out, "has 0 metrics")))
    shard.report.close()
    assert found.lost.keys() == always | left_out | damaged
    assert read_launches(found) == sorted(set(range(count)) - found.lost.keys())
    assert found.without_code.keys() >= in_code - found.lost.keys()


def test_launches_that_the_framing_calls_damaged_are_not_tried(report: Snapshot) -> None:
    reader = Reader(left_out={1: "has 3 metrics, not 4"})
    found = salvage(shard_of(report, 5, damaged=[0, 3, 4]), reader)
    assert reader.asked == [(1, 3, True)]
    assert found.lost == {0: "block 0", 1: "launch 1 has 3 metrics, not 4", 3: "block 3", 4: "block 4"}


@pytest.mark.parametrize("at", [None, 9, 2**70])
def test_a_failure_that_names_none_of_the_launches_loses_them_all(report: Snapshot, at: int | None) -> None:
    reader = Reader(failing=Failure(at, "failed"))
    found = salvage(shard_of(report, 3), reader)
    assert len(reader.asked) == 2
    assert found.lost == dict.fromkeys(range(3), "the report failed" if at is None else f"launch {at} failed")


@pytest.mark.parametrize("scarce", [False, True])
def test_reasons_that_the_machine_may_explain_are_marked(report: Snapshot, scarce: bool) -> None:
    found = salvage(shard_of(report, 3), Reader(failing=Failure(1, "failed", scarce=scarce)))
    assert found.scarce == ({"launch 1 failed"} if scarce else set())
    assert set(found.lost.values()) == {"launch 1 failed"}


def test_where_every_launch_crashes_it_is_given_up_at_last(report: Snapshot) -> None:
    reader = Reader(always=range(1_000))
    found = salvage(shard_of(report, 1_000), reader)
    assert len(reader.asked) <= module.MOST_FAILURES
    assert found.lost.keys() == set(range(1_000))


def test_where_failing_takes_long_it_is_given_up_sooner(report: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_S", -1)
    reader = Reader(always=[2])
    found = salvage(shard_of(report, 6), reader)
    assert len(reader.asked) == 2
    assert found.lost == dict.fromkeys(range(6), f"launch 2 {CRASHED}")


@given(st.lists(st.tuples(st.integers(1, 6), *[st.sets(st.integers(0, 5), max_size=2)] * 3), min_size=1, max_size=5))
def test_reports_read_together_give_what_each_gives_alone(
    reports: list[tuple[int, set[int], set[int], set[int]]],
) -> None:
    shards = [shard_of(Snapshot.of([b"x"]), count) for count, *_ in reports]

    def readers() -> Readers:
        made = [Reader(code, always, dict.fromkeys(out, "has 0 metrics")) for _, code, always, out in reports]
        return Readers({shard.report: each for shard, each in zip(shards, made, strict=True)})

    together, alone = readers(), readers()
    found = salvage_together(shards, together)
    assert list(map(vars, found)) == [vars(salvage(shard, alone)) for shard in shards]
    assert together.batches[0] == len(shards)
    assert set(together.batches[1:]) <= {1}
    for shard in shards:
        shard.report.close()


def test_only_reports_from_the_first_failure_on_are_read_again() -> None:
    shards = [shard_of(Snapshot.of([b"x"]), 2) for _ in range(5)]
    failing = {2: Reader(always=[1])}
    readers = {shard.report: failing.get(place, Reader()) for place, shard in enumerate(shards)}
    found = salvage_together(shards, Readers(readers))
    assert [len(readers[shard.report].asked) for shard in shards] == [1, 1, 4, 1, 1]
    assert [each.lost for each in found] == [{}, {}, {1: f"launch 1 {CRASHED}"}, {}, {}]


def test_what_was_read_after_a_damaged_launch_does_not_count() -> None:
    shards = [shard_of(Snapshot.of([b"x"]), 2) for _ in range(3)]
    readers = {
        shard.report: Reader(left_out={0: "has 0 metrics"} if place == 1 else {}) for place, shard in enumerate(shards)
    }
    salvage_together(shards, Readers(readers))
    assert [len(readers[shard.report].asked) for shard in shards] == [1, 2, 2]


def test_a_process_that_cannot_start_for_several_is_started_for_each() -> None:
    shards = [shard_of(Snapshot.of([b"x"]), 2) for _ in range(2)]

    class Killed(Readers):
        def read(self, shards: Sequence[Shard], *, with_code: bool) -> list[Answer | Failure]:
            if len(shards) > 1:
                raise ReportUnreadable("NVIDIA's reader of reports cannot start: signal 9")
            return super().read(shards, with_code=with_code)

    found = salvage_together(shards, Killed({shard.report: Reader() for shard in shards}))
    assert list(map(read_launches, found)) == [[0, 1], [0, 1]]


def damage(results: int, announced: int | None, lost: set[int], without_code: set[int], *reasons: str) -> str:
    return str(Damage(results, announced, lost, without_code, reasons))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (damage(9, 9, {7, 8}, set(), "why"), "launches 0 to 6 of 9 were read; why"),
        (damage(9, 9, {4}, set(), "why"), "launches 0 to 3 and 5 to 8 of 9 were read; why"),
        (damage(7, 7, {1, 3, 5}, set(), "why"), "launches 0, 2, 4 and 6 of 7 were read; why"),
        (damage(2, 2, {0}, set(), "why"), "launch 1 of 2 was read; why"),
        (damage(7, None, set(), set(), "cut"), "launches 0 to 6 were read; cut"),
        (damage(2_000, 2_000, set(range(0, 2_000, 2)), set(), "why"), "1,000 launches of 2,000 were read; why"),
        (
            damage(3, 3, set(), {0, 1, 2}, "why"),
            "launches 0 to 2 of 3 were read, launches 0 to 2 were read without sources and machine code; why",
        ),
    ],
)
def test_launches_are_named_as_people_do(said: str, expected: str) -> None:
    assert said == expected


def test_a_reason_is_given_once_and_only_the_first_few() -> None:
    assert Damage(9, 9, {1}, (), ["a", "b", "a"]).why == "a; b"
    assert Damage(9, 9, {1}, (), list("abcde")).why == "a; b; c; and 2 more"


def test_a_report_that_may_be_intact_is_not_called_damaged() -> None:
    made = Damage(9, 9, {1}, (), list("abcde"), may_be_intact=True)
    assert made.why.endswith(
        "and 2 more; the report is damaged, or this machine has too little memory or time to read it"
    )


@given(st.sets(st.integers(0, 12), min_size=1, max_size=12))
def test_launches_that_were_read_and_lost_ones_are_never_confused(lost: set[int]) -> None:
    said = damage(13, None, lost, set(), "why")
    outcome, _, why = said.partition(" read; ")
    assert why == "why"
    runs = re.findall(r"(\d+)(?: to (\d+))?", outcome)
    named = {launch for first, last in runs for launch in range(int(first), int(last or first) + 1)}
    if outcome.startswith("launch"):
        assert named == set(range(13)) - lost
    else:
        assert named == {13 - len(lost)}
