"""Which of a report's numbers belong to machine instructions, with a stand-in for NVIDIA's reader."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import ncu_report
import pytest

from ncuview.base.system import IS_LINUX
from ncuview.reader.native import Columns

START = 0x7FBD8325D200
CODE = {START: "MOV R1, c[0x0][0x28]", START + 16: f"BRA {START + 32:#x}", START + 32: "EXIT"}
FOUND_BY_CHANCE = {0: "MOV R1, c[0x0][0x28]", 1: "N/A", 2: "N/A"}
"""What NVIDIA's reader gives for small numbers in some runs."""


class Metric:
    """A metric with a value at each of some numbers, which are its correlation ids."""

    def __init__(self, at: Mapping[int, float], total: float = 0.0) -> None:
        self.this, self.total, self.at = self, total, at

    def unit(self) -> str:
        return ""

    def num_instances(self) -> int:
        return len(self.at)

    def has_correlation_ids(self) -> bool:
        return True

    def correlation_ids(self) -> Metric:
        return Metric(dict(enumerate(self.at)))

    def number(self, place: int | None = None) -> float:
        return self.total if place is None else list(self.at.values())[place]


class Words:
    """A metric that is a text."""

    def __init__(self, words: str) -> None:
        self.this, self.words = self, words

    def as_string(self) -> str:
        return self.words

    def num_instances(self) -> int:
        return 0


class Action:
    NameBase_DEMANGLED = 0

    def __init__(self, metrics: Mapping[str, Metric | Words], kind: int = 0) -> None:
        self.this, self.metrics, self.kind = self, metrics, kind

    def workload_type(self) -> int:
        return self.kind

    def metric_names(self) -> list[str]:
        return list(self.metrics)

    def metric_by_name(self, name: str) -> Metric | Words | None:
        return self.metrics.get(name)

    def name(self, base: int) -> str:
        assert base == self.NameBase_DEMANGLED
        return "kernel()"

    def source_files(self) -> dict[str, str]:
        return {}

    def sass_by_pc(self, address: int) -> str:
        return {**CODE, **FOUND_BY_CHANCE}.get(address, "")

    def source_info(self, _: int) -> None:
        return None


def library() -> Any:
    kinds = {f"ValueKind_{name}": place for place, name in enumerate(("DOUBLE", "FLOAT", "UINT32", "UINT64", "STRING"))}
    raw = SimpleNamespace(
        IAction_metric_by_name=Action.metric_by_name,
        IMetric_kind=lambda metric: kinds["ValueKind_STRING" if isinstance(metric, Words) else "ValueKind_UINT64"],
        IMetric_as_double=Metric.number,
        IMetric_as_uint64=lambda metric, *place: int(metric.number(*place)),
        IMetric_num_instances=lambda metric: metric.num_instances(),
    )
    types = ("KERNEL", "RANGE", "CMDLIST", "GRAPH", "SUBGRID_SCHEDULE")
    action = SimpleNamespace(**{f"WorkloadType_{name}": place for place, name in enumerate(types)})
    return SimpleNamespace(IMetric=SimpleNamespace(**kinds), IAction=action, _ncu_report=raw)


def instructions(**metrics: Metric) -> tuple[list[int], list[str], list[str]]:
    columns = Columns(library(), with_code=True)
    columns.add(0, "kernel", Action(metrics), 0)
    read = columns.columns()
    return [read.address[place] for place in read.executed], list(read.sass), list(read.instruction_metrics)


EXECUTED = Metric(dict.fromkeys(CODE, 32.0), 96.0)
STARTS = Metric({0: START}, float(START))


def test_jumps_are_from_the_kernels_start() -> None:
    addresses, sass, _ = instructions(inst_executed=EXECUTED, launch__function_pcs=STARTS)
    assert addresses == [0, 16, 32]
    assert sass[1] == "BRA 0x20"


def test_numbers_of_other_things_are_no_addresses() -> None:
    others = {name: Metric({0: 1.0, 1: 1.0, 2: 1.0}) for name in ("gpu__parts", "profiler__pmsampler_interval_time")}
    addresses, sass, metrics = instructions(**others, inst_executed=EXECUTED, launch__function_pcs=STARTS)
    assert (addresses, sass[1], metrics) == ([0, 16, 32], "BRA 0x20", ["inst_executed"])


def test_families_without_instructions_are_left_alone_where_the_start_is_unknown() -> None:
    _, _, metrics = instructions(numa__id_cpu=Metric({0: 1.0, 1: 1.0}), inst_executed=EXECUTED)
    assert metrics == ["inst_executed"]


@pytest.mark.parametrize(
    ("kind", "model", "workload"),
    [
        (0, "SIMT", "kernel"),
        (0, "", "kernel"),
        (0, "Tile", "Tile kernel"),  # constructed: no ncu here profiles such a kernel
        (1, "", "range"),
        (2, "", "command list"),
        (3, "", "graph"),
        (4, "", "subgrid schedule"),
    ],
)
def test_workloads_have_names(kind: int, model: str, workload: str) -> None:
    columns = Columns(library(), with_code=True)
    columns.add(0, "kernel", Action({"launch__execution_model": Words(model)} if model else {}, kind), 0)
    assert columns.columns().workload == [workload]


def test_the_kinds_of_workloads_are_those_of_nvidias_reader() -> None:
    kinds = {name for name in vars(ncu_report.IAction) if name.startswith("WorkloadType_")}
    assert kinds == {f"WorkloadType_{kind}" for kind in ("KERNEL", "RANGE", "CMDLIST", "GRAPH", "SUBGRID_SCHEDULE")}


@pytest.mark.skipif(not IS_LINUX, reason="other systems place threads themselves")
def test_all_threads_stay_on_one_processor() -> None:
    program = """
import os, threading
from ncuview.reader.native import stay_on_this_processor
def allowed():
    return {frozenset(os.sched_getaffinity(int(thread))) for thread in os.listdir("/proc/self/task")}
ended = threading.Event()
early = threading.Thread(target=ended.wait)
early.start()
stay_on_this_processor()
late = threading.Thread(target=ended.wait)
late.start()
(processors,) = allowed()
ended.set()
print(len(processors))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
