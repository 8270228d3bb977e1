"""A Dask cluster adds reports to a store: workers that die are replaced, and nothing is lost or doubled."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread, Timer

import pytest
from distributed import Client

from fuzz.dask_processes import DaskProcesses, dask_processes
from fuzz.kill_store import REPORT, changed_copy
from ncuview import store
from ncuview.base.errors import ToolError, UsageError
from ncuview.base.version import VERSION
from ncuview.pipeline.cluster import Cluster, called
from ncuview.pipeline.store_add import add_reports
from ncuview.pipeline.workers import WorkerDied
from ncuview.reader.precheck import read_report

REPORTS = 4
pytestmark = pytest.mark.filterwarnings("ignore")  # of distributed, about what its own threads leave open


@pytest.fixture(scope="module")
def two() -> Iterator[DaskProcesses]:
    """Two worker processes with a thread each."""
    with dask_processes(2) as cluster:
        yield cluster


def own_number(_: int) -> int:
    time.sleep(0.2)
    return os.getpid()


def asleep(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def doubled(number: int) -> int:
    if number == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 7:
        raise ValueError("seven")
    return 2 * number


def test_each_argument_gets_its_result_from_several_processes(two: DaskProcesses) -> None:
    two.wait_for(2)
    with Cluster(two.address) as cluster:
        assert cluster.count == 2
        found = dict(cluster.results(own_number, range(6)))
    assert sorted(found) == list(range(6))
    assert len(set(found.values())) == 2
    assert os.getpid() not in found.values()


def test_a_call_that_kills_each_worker_fails_alone(two: DaskProcesses) -> None:
    with Cluster(two.address) as cluster:
        found = dict(cluster.results(doubled, [1, 13, 2]))
    assert {1: found[1], 2: found[2]} == {1: 2, 2: 4}
    assert isinstance(found[13], WorkerDied)


def test_a_cluster_without_workers_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dask keeps a call forever whose worker died and is not started anew."""
    monkeypatch.setattr("ncuview.pipeline.cluster._LOOK_S", 0.2)
    monkeypatch.setattr("ncuview.pipeline.cluster._IDLE_S", 3.0)
    with dask_processes(1, restarted=False) as one, Cluster(one.address) as cluster:
        assert list(cluster.results(doubled, [1])) == [(1, 2)]
        with pytest.raises(ToolError, match="done nothing for") as raised:
            list(cluster.results(doubled, [13, 2]))
    assert "Start workers" in raised.value.hint


def test_a_call_that_takes_long_is_waited_for(two: DaskProcesses, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ncuview.pipeline.cluster._LOOK_S", 0.05)
    monkeypatch.setattr("ncuview.pipeline.cluster._IDLE_S", 1.0)
    two.wait_for(1)
    with Cluster(two.address) as cluster:
        assert dict(cluster.results(asleep, [2.5])) == {2.5: 2.5}


def test_the_end_of_the_scheduler_is_named(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setattr("ncuview.pipeline.cluster._CONNECT_S", 5)
    with dask_processes(0) as none, Cluster(none.address) as cluster:
        ending = Timer(0.5, none.end_scheduler)
        ending.start()
        with pytest.raises(ToolError, match="scheduler ended"):
            list(cluster.results(doubled, [1]))
        ending.join()
    assert not [each.getMessage() for each in caplog.records if each.levelno >= logging.ERROR]


def test_an_error_of_a_function_is_raised(two: DaskProcesses) -> None:
    with Cluster(two.address) as cluster, pytest.raises(ValueError, match="seven"):
        list(cluster.results(doubled, [1, 7, 2]))


def test_a_store_is_complete_when_a_worker_is_killed_while_it_reads(two: DaskProcesses, tmp_path: Path) -> None:
    data = read_report(REPORT)
    for number in range(REPORTS):
        (tmp_path / f"{number}.ncu-rep").write_bytes(changed_copy(data, number))
    killed: list[int] = []
    numbers = two.wait_for(2)

    def kill_one() -> None:
        with Cluster(two.address) as watched:
            for _ in range(3_000):
                calls = watched._client.processing()
                if at_work := [worker for worker, its in calls.items() if any("written" in call for call in its)]:
                    time.sleep(0.3)
                    os.kill(numbers[at_work[0]], signal.SIGKILL)
                    killed.append(numbers[at_work[0]])
                    return
                time.sleep(0.02)

    killer = Thread(target=kill_one)
    killer.start()
    done = add_reports(tmp_path, to=tmp_path / "s", scheduler=two.address)
    killer.join()
    assert len(killed) == 1
    assert (len(done.added), done.refused) == (REPORTS, ())
    with store.open(tmp_path / "s") as opened:
        ((reports, contents),) = opened.sql("SELECT count(*), count(DISTINCT content) FROM reports").fetchall()
        ((launches, distinct),) = opened.sql(
            "SELECT count(*), count(DISTINCT (report, launch)) FROM launches"
        ).fetchall()
    assert reports == contents == REPORTS
    assert launches == distinct == sum(each.launches for each in done.added) > 0


def test_names_are_those_of_all_workers(two: DaskProcesses, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.ncu-rep").write_bytes(read_report(REPORT))
    monkeypatch.chdir(tmp_path)
    done = add_reports("a.ncu-rep", to="s", scheduler=two.address)
    assert [each.name for each in done.added] == ["a.ncu-rep"]
    with store.open(tmp_path / "s") as opened:
        assert len(opened.reports) == 1


def test_a_worker_of_another_version_is_refused() -> None:
    assert called(VERSION, abs, -2) == 2
    with pytest.raises(ToolError, match=r"has ncuview .*, this machine 0\.0\.1"):
        called("0.0.1", abs, -2)


@pytest.mark.parametrize("address", ["no address", "tcp://127.0.0.1:1"])
def test_an_address_without_a_scheduler_is_named(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ncuview.pipeline.cluster._CONNECT_S", 1)
    with pytest.raises(UsageError, match="no scheduler of Dask answers"):
        Cluster(address)
    assert {each.status for each in gc.get_objects() if type(each) is Client} == {"closed"}


def test_what_is_missing_is_named_with_its_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(ToolError, match="distributed") as raised:
        Cluster("tcp://127.0.0.1:1")
    assert raised.value.hint == "pip install 'ncuview[dask]'"
