"""A scrubbed report does not identify its maker, and is the same as the original in everything else."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ncuview.base.errors import ReportDamaged, ReportError, UsageError
from ncuview.base.paths import shipped
from ncuview.reader import wire
from ncuview.reader.identity import Identity
from ncuview.reader.precheck import precheck, read_report
from ncuview.reader.scrub import scrub
from tests.reader import builder

UNWANTED = ("launch__occupancy_per_", "sass__", "numa__", "nvlink__", "c2clink__", "profiler__", "pmsampling")
CUBIN, SOURCE_NAME, SOURCE_TEXT = (4,), (8, 1, 1), (8, 1, 2)
METRIC, SECTION = 13, 17


def is_wanted(metric: str) -> bool:
    return not metric.startswith(UNWANTED)


Scrub = Callable[..., bytes]


@pytest.fixture
def scrubbed(tmp_path: Path) -> Scrub:
    def copy(data: bytes, keep: Callable[[str], bool] | None = None) -> bytes:
        source, target = tmp_path / "source.ncu-rep", tmp_path / "target.ncu-rep"
        source.write_bytes(data)
        scrub(source, target, keep)
        return target.read_bytes()

    return copy


def items_of(data: bytes) -> list[bytes]:
    return [data[slice(*item)] for block in wire.blocks(data) for item in wire.items(data, block)]


def values_in(item: bytes, path: tuple[int, ...]) -> list[bytes]:
    return [item[slice(*value)] for value in wire.contents(item, wire.Span(0, len(item)), *path)]


@pytest.mark.parametrize("keep", [None, is_wanted])
def test_call_stacks_and_ranges_are_left_out(scrubbed: Scrub, keep: Callable[[str], bool] | None) -> None:
    copy = scrubbed(builder.report(more=builder.call_stacks() + builder.nvtx(b"secret step")), keep)
    assert b"train.py" not in copy
    assert b"secret step" not in copy
    assert b"cudaLaunchKernel" not in copy


def values_of(data: bytes, path: tuple[int, ...]) -> list[bytes]:
    """The values of a field of the source items, in order."""
    sources = [
        data[slice(*item)] for block in wire.blocks(data) for item in list(wire.items(data, block))[: block.sources]
    ]
    return [value for item in sources for value in values_in(item, path)]


def one_launch(text: bytes = builder.SOURCE, folder: bytes = builder.WORKING_FOLDER, name: bytes = b"twice") -> bytes:
    """A report of one launch, with the session that its builder plants."""
    launch = builder.block(sources=[builder.source(folder, text)], kernels=[builder.kernel({}, name=name)])
    return wire.encode_report([*builder.session_blocks(), launch])


def test_nothing_of_the_session_remains(scrubbed: Scrub) -> None:
    original = builder.report()
    copy = scrubbed(original)
    assert all(canary in original for canary in builder.CANARIES)
    assert not [canary for canary in builder.CANARIES if canary in copy]


def test_versions_time_and_device_remain(scrubbed: Scrub, tmp_path: Path) -> None:
    copy = scrubbed(builder.report(launches=3))
    header = precheck(tmp_path / "target.ncu-rep")
    assert (header.ncu_version, header.created, header.results) == ("2025.3.1", builder.CREATED, 3)
    assert b"CUDA Version" in copy
    assert b"NVIDIA H200" in copy


def test_launches_are_untouched_and_sources_keep_their_length(scrubbed: Scrub) -> None:
    original = builder.report()
    before, after = items_of(original), items_of(scrubbed(original))
    assert after[1::2] == before[1::2]
    assert [len(item) for item in after] == [len(item) for item in before]


def test_a_cubin_and_its_source_file_still_name_one_folder(scrubbed: Scrub) -> None:
    copy = scrubbed(builder.report())
    [folder] = {name.rpartition(b"/")[0] for name in values_of(copy, SOURCE_NAME)}
    assert len(folder) == len(builder.WORKING_FOLDER)
    assert set(values_of(copy, CUBIN)) == {builder.cubin(folder)}


def test_files_of_different_folders_stay_different(scrubbed: Scrub) -> None:
    folders = [b"/home/alice/%c/src" % letter for letter in b"abcdefg"]
    sources = [builder.source(folder) for folder in folders]
    copy = scrubbed(wire.encode_report([builder.block(sources=sources, kernels=[b""])]))
    assert len(set(values_of(copy, SOURCE_NAME))) == len(folders)


@pytest.mark.parametrize("folder", [b"/data", b"/srv/projects/kernels", b"/home/carol/src"])
def test_the_folder_of_a_source_file_is_overwritten_even_if_the_session_does_not_name_it(
    scrubbed: Scrub, folder: bytes
) -> None:
    copy = scrubbed(wire.encode_report([builder.block(sources=[builder.source(folder)], kernels=[b""])]))
    assert folder not in copy
    assert values_of(copy, SOURCE_NAME)[0].endswith(b"/twice.cu")


def test_a_folder_that_only_a_cubin_names_is_overwritten(scrubbed: Scrub) -> None:
    source = wire.encode_field(4, builder.cubin(b"/srv/carol/kernels"))
    copy = scrubbed(wire.encode_report([builder.block(sources=[source], kernels=[b""])]))
    assert b"/srv/carol" not in copy


def test_relative_names_of_source_files_remain(scrubbed: Scrub) -> None:
    copy = scrubbed(one_launch(folder=b"transpose"))
    assert values_of(copy, SOURCE_NAME) == [b"transpose/twice.cu"]
    assert values_of(copy, CUBIN) == [builder.cubin(b"transpose")]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param(b"made on alices-workstation!", b"made on __________________!", id="host"),
        pytest.param(b"not-on-alices-workstations", b"not-on-alices-workstations", id="another host"),
        pytest.param(b'connect("10.20.30.40")', b'connect("___________")', id="address"),
        pytest.param(b"version 110.20.30.405", b"version 110.20.30.405", id="not that address"),
        pytest.param(b"curl hf_0123456789abcdef", b"curl ___________________", id="credential"),
        pytest.param(b"x = sum/home; y = (a)/opt/2;", b"x = sum/home; y = (a)/opt/2;", id="division"),
        pytest.param(b"listen on 127.0.0.1", b"listen on 127.0.0.1", id="what every machine has"),
    ],
)
def test_only_complete_quotations_in_a_source_are_overwritten(scrubbed: Scrub, written: bytes, read: bytes) -> None:
    assert values_of(scrubbed(one_launch(text=written)), SOURCE_TEXT) == [read]


@pytest.mark.parametrize("name", [b"vm", b"h1h2", b"sass"])
def test_a_host_name_may_be_part_of_other_words(scrubbed: Scrub, name: bytes) -> None:
    process = wire.encode_field(1, 1) + wire.encode_field(2, name)
    kernel = builder.kernel({"sass__inst_executed": 1})
    block = builder.block(kernels=[kernel], strings=builder.METRICS, process=process)
    copy = scrubbed(wire.encode_report([block]))
    assert items_of(copy) == [kernel]
    assert b"sass__inst_executed" in copy
    assert name + b"\0" not in copy


def test_a_length_that_reads_like_a_letter_is_no_part_of_a_word(scrubbed: Scrub) -> None:
    session = wire.encode_field(11, b"ncu /temp/x")
    name = b"temp_kernel".ljust(ord("/"), b"_")
    kernel = wire.encode_field(6, name)
    copy = scrubbed(wire.encode_report([builder.block(session=session, kernels=[kernel])]))
    assert b"/temp" in kernel
    assert items_of(copy) == [kernel]


def test_fields_that_are_not_known_are_left_out(scrubbed: Scrub) -> None:
    header, payload = builder.block(kernels=[b""], session=wire.encode_field(99, b"bob"))
    copy = scrubbed(wire.encode_report([(header + wire.encode_field(77, b"carol"), payload)]))
    assert b"bob" not in copy
    assert b"carol" not in copy


def test_only_wanted_metrics_are_copied_and_no_sections(scrubbed: Scrub) -> None:
    copy = scrubbed(builder.report(launches=1), is_wanted)
    [launch] = items_of(copy)[1:]
    places = [metric[1] for metric in values_in(launch, (METRIC,))]
    assert [builder.METRICS[place] for place in places] == [name for name in builder.METRICS if is_wanted(name)]
    assert not values_in(launch, (SECTION,))


def test_names_of_metrics_may_come_in_several_blocks(scrubbed: Scrub) -> None:
    kernel = builder.kernel(dict.fromkeys(builder.METRICS, 1.0))
    blocks = [builder.block(strings=builder.METRICS[:2]), builder.block(strings=builder.METRICS[2:], kernels=[kernel])]
    [launch] = items_of(scrubbed(wire.encode_report(blocks), is_wanted))
    assert len(values_in(launch, (METRIC,))) == len([name for name in builder.METRICS if is_wanted(name)])


def test_what_would_remain_is_named_by_its_kind_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "source.ncu-rep", tmp_path / "target.ncu-rep"
    source.write_bytes(builder.report())
    monkeypatch.setattr(Identity, "overwritten", lambda _, data: data)
    with pytest.raises(ReportError, match="a path of the session would remain") as refused:
        scrub(source, target)
    assert "alice" not in f"{refused.value}{refused.value.hint}".replace(str(tmp_path), "")
    assert list(tmp_path.iterdir()) == [source]


def test_a_write_that_fails_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> NoReturn:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    source, target = tmp_path / "source.ncu-rep", tmp_path / "target.ncu-rep"
    source.write_bytes(builder.report())
    target.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left"):
        scrub(source, target)
    assert target.read_bytes() == b"old"
    assert set(tmp_path.iterdir()) == {source, target}


def test_a_report_may_be_scrubbed_in_place(tmp_path: Path) -> None:
    report = tmp_path / "x.ncu-rep"
    report.write_bytes(builder.report())
    scrub(report, report)
    assert builder.HOST not in report.read_bytes()


@pytest.mark.parametrize("family", ["divergence", "atomics"])
def test_a_scrubbed_report_is_scrubbed_to_itself(tmp_path: Path, family: str) -> None:
    once, twice = tmp_path / "once.ncu-rep", tmp_path / "twice.ncu-rep"
    scrub(shipped("kernels") / family / "h200.ncu-repz", once)
    scrub(once, twice)
    scrub(twice, tmp_path / "again.ncu-rep")
    assert once.read_bytes() == twice.read_bytes() == (tmp_path / "again.ncu-rep").read_bytes()


@pytest.mark.parametrize("target", ["", "missing/x.ncu-rep"])
def test_a_target_that_cannot_be_written_is_a_usage_error(tmp_path: Path, target: str) -> None:
    source = tmp_path / "x.ncu-rep"
    source.write_bytes(builder.report())
    with pytest.raises(UsageError):
        scrub(source, tmp_path / target)


def test_damage_that_only_scrubbing_comes_upon_is_damage_too(scrubbed: Scrub) -> None:
    report = wire.encode_report([builder.block(process=b"\x0b", kernels=[b""])])
    with pytest.raises(ReportDamaged, match="at byte"):
        scrubbed(report)


def test_deep_nesting_is_no_way_to_crash(scrubbed: Scrub) -> None:
    nested = b"/home/alice/x"
    for _ in range(20_000):
        nested = wire.encode_field(1, nested)
    assert b"alice" not in scrubbed(wire.encode_report([builder.block(session=b"", kernels=[nested])]))


@given(st.data())
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_changed_bytes_are_scrubbed_or_refused_but_never_crash(tmp_path: Path, data: st.DataObject) -> None:
    changed = bytearray(builder.report())
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    source = tmp_path / "source.ncu-rep"
    source.write_bytes(changed)
    with suppress(ReportError):
        scrub(source, tmp_path / "target.ncu-rep", is_wanted)


READ_EVERYTHING = """
import sys
import ncu_report

def values(metric):
    ids = metric.correlation_ids() if metric.has_correlation_ids() else None
    return [(ids.value(index) if ids else index, metric.value(index)) for index in range(metric.num_instances())]

report = ncu_report.load_report(sys.argv[1])
for launches in map(report.range_by_idx, range(report.num_ranges())):
    for launch in map(launches.action_by_idx, range(launches.num_actions())):
        print(launch.name(), launch.name(launch.NameBase_DEMANGLED), dict(launch.source_files()))
        for name in sorted(launch.metric_names()):
            if not name.startswith(tuple(sys.argv[2:])):
                print(name, launch[name].value(), launch[name].unit(), values(launch[name]))
        for address, _ in values(launch["inst_executed"]):
            place = launch.source_info(address)
            print(address, launch.sass_by_pc(address), place and (place.file_name(), place.line()))
"""


def read_everything(path: Path, *unwanted: str) -> str:
    command = [sys.executable, "-c", READ_EVERYTHING, str(path), *unwanted]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """The recorded transposes, unpacked."""
    path = tmp_path / "recorded.ncu-rep"
    path.write_bytes(read_report(shipped("kernels") / "transpose" / "h200.ncu-repz"))
    return path


@pytest.mark.parametrize("unwanted", [(), UNWANTED])
def test_nvidias_reader_reads_the_same_before_and_after(
    recorded: Path, tmp_path: Path, unwanted: tuple[str, ...]
) -> None:
    target = tmp_path / "scrubbed.ncu-rep"
    scrub(recorded, target, (lambda metric: not metric.startswith(unwanted)) if unwanted else None)
    before = read_everything(recorded, *unwanted)
    assert before.count("\n") > 1000
    assert read_everything(target, *unwanted) == before


def test_nvidias_reader_finds_the_lines_of_sources_whose_folder_was_overwritten(recorded: Path, tmp_path: Path) -> None:
    moved, target = tmp_path / "moved.ncu-rep", tmp_path / "scrubbed.ncu-rep"
    report = recorded.read_bytes().replace(b"transpose/", b"/home/bob/")
    moved.write_bytes(report.replace(b"\1transpose\0", b"\1/home/bob\0"))
    scrub(moved, target)
    before, after = read_everything(moved), read_everything(target)
    assert "('/home/bob/" in before
    assert "/home/bob/" not in after
    assert re.sub(r"/___\d/__\d/", "/home/bob/", after) == before
