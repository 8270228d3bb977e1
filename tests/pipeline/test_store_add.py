"""Reports become part of a store once, whatever happens to a run; what cannot be read is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Self

import pytest

from ncuview import store
from ncuview.base.errors import ReportEmpty, UsageError
from ncuview.base.paths import shipped
from ncuview.pipeline import store_add
from ncuview.pipeline.store_add import Addition, add_reports
from ncuview.pipeline.store_batch import Identified, Named, Refused, Task, identified, written
from ncuview.pipeline.workers import WorkerDied
from ncuview.reader.precheck import read_report
from ncuview.store.batches import contents_of, publish
from ncuview.store.place import place_of
from tests.profiles import recorded_profile, stored_profiles

TRANSPOSE = shipped("kernels") / "transpose" / "h200.ncu-repz"
DIVERGENCE = shipped("kernels") / "divergence" / "h200.ncu-repz"


class HereInstead:
    """Calls in this process, where profiles are at hand; a call that ``dies`` chooses has no result."""

    count = 2
    dies: Callable[[Any], bool] = staticmethod(lambda argument: False)

    def __init__(self, *_: int) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, function: Callable[[Any], Any], arguments: Iterable[Any]) -> Iterator[tuple[Any, Any]]:
        for argument in arguments:
            died = function is written and type(self).dies(argument)
            yield argument, WorkerDied("the process that read it was ended by signal 9") if died else function(argument)


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[HereInstead]]:
    monkeypatch.setattr(store_add, "Workers", HereInstead)
    monkeypatch.setattr(HereInstead, "dies", staticmethod(lambda argument: False))
    with stored_profiles():
        yield HereInstead


def count(to: Path | str, table: str = "launches") -> int:
    with store.open(to) as opened:
        return int(opened.sql(f"SELECT count(*) FROM {table}").fetchall()[0][0])


def launches(*families: str) -> int:
    return sum(len(recorded_profile(family).launches) for family in families)


def test_reports_are_added_by_processes_of_their_own(tmp_path: Path) -> None:
    done: list[tuple[int, int]] = []
    answer = add_reports(
        shipped("kernels") / "transfers", to=tmp_path / "s", processes=1, progress=lambda *each: done.append(each)
    )
    assert (len(answer.added), answer.known, answer.refused, answer.failure) == (1, (), (), None)
    assert done == [(1, 1)]
    assert count(tmp_path / "s") == answer.added[0].launches > 0


@pytest.mark.usefixtures("here")
def test_adding_again_changes_nothing(tmp_path: Path) -> None:
    first = add_reports(TRANSPOSE, to=tmp_path / "s")
    before = {file: file.stat().st_mtime_ns for file in (tmp_path / "s").rglob("*")}
    again = add_reports(TRANSPOSE, DIVERGENCE.parent / "no-such.ncu-rep", to=tmp_path / "s")
    assert again.known == first.added
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "s").rglob("*")} == before


@pytest.mark.usefixtures("here")
def test_a_copy_is_the_same_report_compressed_or_not(tmp_path: Path) -> None:
    plain, copy = tmp_path / "plain.ncu-rep", tmp_path / "copy.ncu-repz"
    plain.write_bytes(read_report(TRANSPOSE))
    shutil.copy(TRANSPOSE, copy)
    answer = add_reports(TRANSPOSE, plain, copy, to=tmp_path / "s")
    assert len(answer.added) == 1
    assert count(tmp_path / "s") == launches("transpose")


@pytest.mark.usefixtures("here")
def test_a_store_may_be_an_object_store(tmp_path: Path) -> None:
    url = f"memory://{tmp_path.name}/add"
    add_reports(TRANSPOSE, to=url)
    add_reports(DIVERGENCE, to=url)
    assert count(url) == launches("transpose", "divergence")


@pytest.mark.usefixtures("here")
def test_point_rank_and_labels_are_columns(tmp_path: Path) -> None:
    (tmp_path / "in" / "4f2a91c").mkdir(parents=True)
    shutil.copy(TRANSPOSE, tmp_path / "in" / "4f2a91c" / "run-rank3.ncu-repz")
    add_reports(tmp_path / "in", to=tmp_path / "s", labels={"job": "nightly"})
    with store.open(tmp_path / "s") as opened:
        assert opened.sql("SELECT DISTINCT point, rank FROM launches").fetchall() == [("4f2a91c", "rank 3")]
        assert opened.sql("SELECT labels['job'], name FROM reports").fetchall() == [("nightly", "run-rank3.ncu-repz")]


@pytest.mark.usefixtures("here")
def test_no_folder_of_this_machine_is_kept(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    shutil.copy(TRANSPOSE, tmp_path / "in" / "x.ncu-repz")
    (tmp_path / "in" / "cut.ncu-rep").write_bytes(read_report(DIVERGENCE)[:100])
    add_reports(tmp_path / "in", to=tmp_path / "s")
    with store.open(tmp_path / "s") as opened:
        texts = [str(opened.arrow(table).to_pylist()) for table in ("reports", "launches", "findings", "lines")]
    texts += [file.read_text() for file in (tmp_path / "s" / "batches").iterdir()]
    assert not [text for text in texts if str(tmp_path) in text]


@pytest.mark.usefixtures("here")
def test_damaged_reports_are_named_and_what_could_be_read_is_kept(tmp_path: Path) -> None:
    data = read_report(DIVERGENCE)
    cut, lost = tmp_path / "cut.ncu-rep", tmp_path / "lost.ncu-rep"
    cut.write_bytes(data[: len(data) * 3 // 4])
    lost.write_bytes(data[:60])
    answer = add_reports(TRANSPOSE, cut, lost, to=tmp_path / "s")
    again = add_reports(TRANSPOSE, cut, lost, to=tmp_path / "s")
    for each in (answer, again):
        assert {report.name for report in each.damaged} == {"cut.ncu-rep", "lost.ncu-rep"}
        assert each.failure
        assert (each.failure.exit_code, "cut.ncu-rep: " in each.failure.message) == (3, True)
    assert len(again.known) == 3
    with store.open(tmp_path / "s") as opened:
        kept = opened.sql("SELECT name, launches, damage FROM reports WHERE damage IS NOT NULL ORDER BY 1").fetchall()
        assert {report.name for report in opened.damaged} == {"cut.ncu-rep", "lost.ncu-rep"}
    assert [row[:2] for row in kept] == [("cut.ncu-rep", kept[0][1]), ("lost.ncu-rep", 0)]
    assert 0 < kept[0][1] < launches("divergence")


@pytest.mark.usefixtures("here")
def test_what_is_missing_or_no_report_is_refused_and_may_be_added_later(tmp_path: Path) -> None:
    other = tmp_path / "x.json"
    other.write_text("{}")
    answer = add_reports(TRANSPOSE, tmp_path / "missing.ncu-rep", other, to=tmp_path / "s")
    assert [Path(each.file).name for each in answer.refused] == ["missing.ncu-rep", "x.json"]
    assert answer.failure
    assert answer.failure.exit_code == 3
    assert len(contents_of(place_of(str(tmp_path / "s"))).reports) == 1


def test_reports_of_a_process_that_died_are_read_one_by_one(tmp_path: Path, here: type[HereInstead]) -> None:
    here.dies = staticmethod(lambda task: any(each.named.file == DIVERGENCE for each in task.reports))
    here.count = 1
    answer = add_reports(TRANSPOSE, DIVERGENCE, to=tmp_path / "s")
    assert [each.name for each in answer.added] == [TRANSPOSE.name]
    assert [each.file for each in answer.refused] == [str(DIVERGENCE)]
    assert "signal 9" in answer.refused[0].why.message
    assert count(tmp_path / "s") == launches("transpose")


def task_of(to: Path, report: Path) -> Task:
    (found,) = identified([Named(report, "p", "")])
    assert isinstance(found, Identified)
    return Task(str(to), (found,))


@pytest.mark.usefixtures("here")
def test_what_is_written_is_not_there_until_it_is_published(tmp_path: Path) -> None:
    add_reports(TRANSPOSE, to=tmp_path / "s")
    done = written(task_of(tmp_path / "s", DIVERGENCE))
    assert count(tmp_path / "s") == launches("transpose")
    publish(place_of(str(tmp_path / "s")), done.batch)
    assert count(tmp_path / "s") == launches("transpose", "divergence")


@pytest.mark.usefixtures("here")
def test_two_runs_that_add_a_report_at_once_do_not_double_it(tmp_path: Path) -> None:
    tasks = [task_of(tmp_path / "s", TRANSPOSE) for _ in range(2)]
    for task in tasks:
        publish(place_of(str(tmp_path / "s")), written(task).batch)
    assert count(tmp_path / "s") == launches("transpose")
    assert count(tmp_path / "s", "reports") == 1


@pytest.mark.usefixtures("here")
def test_a_report_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    copy = tmp_path / "copy.ncu-repz"
    shutil.copy(TRANSPOSE, copy)
    task = task_of(tmp_path / "s", copy)
    shutil.copy(DIVERGENCE, copy)
    done = written(task)
    assert done.batch.reports == ()
    assert isinstance(done.refused[0], Refused)
    assert "changed while it was read" in done.refused[0].why.message


@pytest.mark.usefixtures("here")
def test_a_folder_without_reports_and_no_target_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ReportEmpty):
        add_reports(tmp_path, to=tmp_path / "s")
    with pytest.raises(UsageError, match="nothing to add"):
        add_reports(to=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_nothing_missing_is_no_failure() -> None:
    assert Addition((), (), ()).failure is None
