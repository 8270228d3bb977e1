"""Small reports that one child process reads together give what each gives alone, whatever one of them does to it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ncuview.base.errors import ReportDamaged, ReportError, ReportUnreadable
from ncuview.reader import batches, child, reader
from ncuview.reader.batches import Batches
from ncuview.reader.child import Children, Shard
from ncuview.reader.framing import LaunchHeader
from ncuview.reader.precheck import read_report
from ncuview.reader.reader import read, read_each
from ncuview.reader.recover import Salvaged
from ncuview.reader.snapshot import Snapshot
from ncuview.reader.task import MOST_REPORTS, Task
from ncuview.records.profile import Profile
from tests.profiles import LABELLED, RECORDED, profile_of
from tests.reader.harmed import SMALL, harm, noted, same


@pytest.fixture
def processes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many reports each child process was given."""
    return noted(monkeypatch)


def test_each_report_is_read_as_alone_by_one_process(processes: list[int]) -> None:
    expected = [profile_of(path) for path in SMALL]
    processes.clear()
    for path, found, alone in zip(SMALL, read_each(SMALL), expected, strict=True):
        same(found, alone, path)
    assert processes == [len(SMALL)]


def test_some_recorded_reports_in_any_order_are_read_as_alone(processes: list[int]) -> None:
    chosen = random.sample([*RECORDED, *LABELLED[::20]], 6)
    expected = [profile_of(path) for path in chosen]
    processes.clear()
    for path, found, alone in zip(chosen, read_each(chosen), expected, strict=True):
        same(found, alone, path)
    assert sum(processes) == len(chosen)
    assert max(processes) > 1


def test_reports_that_are_read_into_one_profile_share_processes_too(
    processes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "usable_processors", lambda: 2)
    parts = [profile_of(path) for path in SMALL]
    processes.clear()
    found = read(SMALL)
    assert sorted(processes) == [2, 3]
    assert found.launches["kernel"].tolist() == [name for part in parts for name in part.launches["kernel"]]
    assert found.failure is None


@pytest.mark.parametrize(
    ("does", "error", "said"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", ReportDamaged, "the report crashed NVIDIA's reader (signal 11)"),
        (
            "raise OSError('no such form')",
            ReportDamaged,
            "the report made NVIDIA's reader fail (OSError: no such form)",
        ),
        ("os.write(1, b'x' * 100)", ReportDamaged, "the report made NVIDIA's reader give no answer"),
        ("os.write(1, b'x' * 40_000_000)", ReportDamaged, "made NVIDIA's reader give more than a report can hold"),
        ("os.write(2, b'std::bad_alloc')", ReportUnreadable, "the report was read with too little memory"),
        ("os._exit(0)", ReportDamaged, "the report made NVIDIA's reader give no answer"),
    ],
)
def test_a_report_that_harms_the_reader_is_named_and_the_others_are_kept(
    processes: list[int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    does: str,
    error: type[ReportError],
    said: str,
) -> None:
    reports = SMALL[:3]
    expected = [profile_of(path) for path in reports]
    if "40_000_000" in does:
        monkeypatch.setattr(child, "_OUTPUT", 1 << 20)
    harm(monkeypatch, tmp_path, reports[1], does)
    processes.clear()
    first, second, third = read_each(reports)
    same(first, expected[0], reports[0])
    same(third, expected[2], reports[2])
    assert isinstance(second, error)
    assert said in str(second)
    again = [1] if "bad_alloc" in does else []  # the first one, whose code may be missing
    assert processes == [3, *again, 1, 1, 1]  # the guilty one with its code and without


def test_a_batch_has_the_limits_of_one_report_with_all_its_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Task] = []

    def started(children: Children, task: Task, reports: Sequence[Snapshot]) -> None:
        given.append(task)
        raise ReportUnreadable(f"{len(reports)} reports")

    monkeypatch.setattr(Children, "_started", started)
    few, many = shard(1_000_000), shard(5_000_000)
    joined = Shard(few.report, 0, (*few.launches, *many.launches), 2)
    for batch in ([few], [joined], [few, many]):
        with pytest.raises(ReportUnreadable, match=f"{len(batch)} reports"):
            Children().read(batch, with_code=True)
    alone, one, several = ((task.memory, task.cpu_s) for task in given)
    assert several == one
    assert (several[0] - alone[0], several[1] - alone[1]) == (100 * 5_000_000, 4 * 5)
    for each in (few, many):
        each.report.close()


def test_an_answer_that_says_to_be_of_another_report_is_refused(
    processes: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    reports = SMALL[:3]
    expected = [profile_of(path) for path in reports]
    forged = "encode = native.encode; native.encode = lambda answer, place: encode(answer, 2 if place == 1 else place)"
    harm(monkeypatch, tmp_path, reports[1], forged)
    processes.clear()
    for path, found, alone in zip(reports, read_each(reports), expected, strict=True):
        same(found, alone, path)
    assert processes == [3, 1, 1]


def test_damaged_reports_are_read_alone(processes: list[int], tmp_path: Path) -> None:
    cut, lost, other = tmp_path / "cut.ncu-rep", tmp_path / "lost.ncu-rep", tmp_path / "x.json"
    data = read_report(SMALL[2])
    cut.write_bytes(data[: len(data) * 3 // 4])
    lost.write_bytes(data[:60])
    other.write_text("{}")
    paths = [SMALL[0], cut, lost, SMALL[1], other, tmp_path / "missing.ncu-rep"]
    alone = [answer(path) for path in paths]
    processes.clear()
    together = list(read_each(paths))
    assert sorted(processes) == [1, 2]
    for path, found, expected in zip(paths, together, alone, strict=True):
        if isinstance(expected, Profile):
            same(found, expected, path)
        else:
            assert (type(found), str(found)) == (type(expected), str(expected))
    assert [type(found) for found in together[2:]] == [ReportDamaged, Profile, ReportUnreadable, ReportUnreadable]


def answer(path: Path) -> Profile | ReportError:
    try:
        return read([path])
    except ReportError as error:
        return error


def test_who_asks_for_no_more_ends_the_processes(processes: list[int]) -> None:
    before = {file.name for file in Path("/proc/self/fd").iterdir()}
    found = read_each(SMALL)
    next(found)
    found.close()  # type: ignore[attr-defined]  # a generator
    assert {file.name for file in Path("/proc/self/fd").iterdir()} == before
    assert processes == [len(SMALL)]


class Pool(ThreadPoolExecutor):
    """One thread."""

    def __init__(self) -> None:
        super().__init__(1)


def shard(size: int) -> Shard:
    return Shard(Snapshot.of([b"x" * size]), 0, (LaunchHeader(size, "k", 0),), 1)


def test_a_batch_has_so_many_reports_and_bytes_and_no_more() -> None:
    read_together: list[list[int]] = []

    def sizes_of(shards: Sequence[Shard]) -> list[Salvaged]:
        read_together.append([each.report.size for each in shards])
        return [Salvaged(lost={each.report.size: "x"}) for each in shards]

    half = batches.MOST_BYTES // 2
    sizes = [half, half, 1, 2 * half + 1, *range(2, 2 + MOST_REPORTS), 5]
    shards = [shard(size) for size in sizes]
    with Pool() as pool:
        given = Batches(pool, sizes_of, 1_000)
        futures = [given.add(each) for each in shards]
        given.flush()
        found = [future.result() for future in futures]
    assert [[*each.lost] for each in found] == [[size] for size in sizes]
    assert read_together == [sizes[:2], [1], [2 * half + 1], list(range(2, 2 + MOST_REPORTS)), [5]]
    for each in shards:
        each.report.close()


def test_what_reading_a_batch_raises_is_raised_for_each() -> None:
    def fail(shards: Sequence[Shard]) -> list[Salvaged]:
        raise ReportUnreadable("no reader")

    shards = [shard(1), shard(1)]
    with Pool() as pool:
        given = Batches(pool, fail, 2)
        futures = [given.add(each) for each in shards]
        given.flush()
        for future in futures:
            with pytest.raises(ReportUnreadable, match="no reader"):
                future.result()
    for each in shards:
        each.report.close()
