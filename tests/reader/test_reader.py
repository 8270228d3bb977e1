"""Reports read in a child process: recorded ones completely, damaged ones in part or refused."""

from __future__ import annotations

import os
import random
import re
import shutil
import weakref
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmarks.reading import repeated
from ncuview.api import load_rules
from ncuview.base.errors import ReportDamaged, ReportEmpty, ReportUnreadable
from ncuview.base.paths import shipped
from ncuview.engine.rank import diagnose
from ncuview.reader import child, frames, reader, wire
from ncuview.reader.child import Children, Failure, PrestartedChildren, Shard
from ncuview.reader.columns import Answer, LaunchColumns
from ncuview.reader.framing import LaunchHeader
from ncuview.reader.outliners import Outliners
from ncuview.reader.packing import packed
from ncuview.reader.precheck import precheck, read_report
from ncuview.reader.readable_part import Approved, approve
from ncuview.reader.reader import read
from ncuview.reader.snapshot import Snapshot
from ncuview.records.diagnosis import Skipped
from ncuview.records.profile import Profile
from tests.profiles import RECORDED, profile_of
from tests.reader import builder
from tests.reader.test_frames import INSTRUCTION_TYPES, LAUNCH_TYPES, types
from tests.together import together

TRANSPOSE = next(path for path in RECORDED if path.parent.name == "transpose")
SMALL = next(path for path in RECORDED if path.parent.name == "divergence")


@pytest.fixture(scope="module")
def transpose() -> Profile:
    """The recorded transposes."""
    return read([TRANSPOSE])


@together("path", RECORDED)
def test_a_recorded_report_has_the_launches_that_it_announces(path: Path) -> None:
    profile = profile_of(path)
    assert len(profile.launches) == precheck(path).results > 0
    assert profile.launches["index"].tolist() == list(range(len(profile.launches)))


def test_the_columns_are_the_documented_ones(transpose: Profile) -> None:
    assert types(transpose.launches) == LAUNCH_TYPES
    assert dict(list(types(transpose.instructions).items())[:5]) == INSTRUCTION_TYPES
    assert set(types(transpose.metrics).values()) == {"float64"}
    assert transpose.units.keys() == set(transpose.metrics.columns)


def test_values_are_in_base_units(transpose: Profile) -> None:
    assert transpose.units["gpu__time_duration.sum"] in {"ns", "nsecond"}
    assert transpose.units["dram__bytes_read.sum"] == "byte"
    assert transpose.launches["duration_ns"].between(1e4, 1e10).all()


def test_every_launch_has_instructions_with_lines_of_a_source_that_was_imported(transpose: Profile) -> None:
    known = transpose.instructions[transpose.instructions["line"] > 0]
    assert set(known["launch"]) == set(transpose.launches.index)
    for file, line in set(zip(known["file"], known["line"], strict=True)):
        assert line <= len(transpose.sources[str(TRANSPOSE), file].splitlines())


def test_source_names_are_relative_to_the_kernels(transpose: Profile) -> None:
    files = {file for _, file in transpose.sources}
    assert all((shipped("kernels") / file).is_file() for file in files)


def test_instruction_metrics_add_up_to_the_launchs(transpose: Profile) -> None:
    for metric in ("inst_executed", "memory_l2_theoretical_sectors_global"):
        sums = transpose.instructions.groupby("launch")[metric].sum()
        np.testing.assert_allclose(sums, transpose.metrics[metric].loc[sums.index])


def test_jump_targets_are_relative_to_the_kernel(transpose: Profile) -> None:
    jumps = transpose.instructions[transpose.instructions["sass"].str.contains(r"\bBRA\b.*0x", regex=True)]
    targets = jumps["sass"].str.extract(r"0x([0-9a-f]+)")[0].map(lambda text: int(text, 16))
    assert len(jumps) > 0
    assert (targets < 1 << 20).all()


def test_without_instructions_the_numbers_are_the_same(transpose: Profile) -> None:
    numbers = read([TRANSPOSE], instructions=False)
    pd.testing.assert_frame_equal(numbers.metrics, transpose.metrics)
    pd.testing.assert_frame_equal(numbers.launches, transpose.launches)
    assert (len(numbers.instructions), numbers.sources, numbers.failure) == (0, {}, None)


def test_without_instructions_all_that_code_does_not_show_too_is_likely(transpose: Profile) -> None:
    rules = load_rules()
    full, numbers = (diagnose(each, rules) for each in (transpose, read([TRANSPOSE], instructions=False)))
    for complete, seen in zip(full.launches, numbers.launches, strict=True):
        assert any(isinstance(outcome, Skipped) for outcome in seen.outcomes)
        certain = {found.rule for found in seen.findings if found.grade == "certain"}
        assert certain <= {found.rule for found in complete.findings}


def test_a_large_report_is_read_without_instructions_too(transpose: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LEAST_SHARD", TRANSPOSE.stat().st_size // 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(3)))
    pd.testing.assert_frame_equal(read([TRANSPOSE], instructions=False).metrics, transpose.metrics)


def test_the_threads_of_a_process_are_one(tmp_path: Path) -> None:
    """A backward pass runs on a thread of its own, whose number stands in its launches."""
    data, launches = bytearray(read_report(SMALL)), 0
    for block in wire.blocks(bytes(data)):
        for item in list(wire.items(bytes(data), block))[block.sources :]:
            thread = next(field for field in wire.fields(bytes(data), item) if field.number == 1)
            data[thread.body : thread.end] = wire.encode_varint(thread.value + launches % 2)
            launches += 1
    (tmp_path / "threads.ncu-rep").write_bytes(data)
    found = read([tmp_path / "threads.ncu-rep"], instructions=False).launches
    assert launches > 1
    assert len({*found["process"]}) == 1
    assert {*found["process_name"]} == {""}  # the recorded reports are scrubbed


def test_only_the_launches_of_a_kernel_are_read_with_their_own_indices(transpose: Profile) -> None:
    kernel = transpose.launches["kernel"].iloc[-1]
    expected = transpose.launches[transpose.launches["kernel"] == kernel]
    chosen = read([TRANSPOSE], kernel=kernel)
    assert chosen.launches["kernel"].tolist() == expected["kernel"].tolist()
    assert chosen.launches["index"].tolist() == expected["index"].tolist()
    assert set(chosen.instructions["launch"]) == set(chosen.launches.index)


def test_a_kernel_is_selected_by_its_full_name() -> None:
    with pytest.raises(ReportEmpty, match="no launch of a kernel 'divergent'"):
        read([SMALL], kernel="divergent")


def test_two_reports_keep_the_order_in_which_they_are_named() -> None:
    profile = read([SMALL, TRANSPOSE])
    first = precheck(SMALL).results
    assert profile.launches["report"].tolist()[: first + 1] == [str(SMALL)] * first + [str(TRANSPOSE)]
    assert [info.path for info in profile.reports] == [str(SMALL), str(TRANSPOSE)]


def test_one_report_can_be_read_twice_in_one_call() -> None:
    assert len(read([SMALL, SMALL]).launches) == 2 * precheck(SMALL).results


def same(found: Profile, expected: Profile) -> None:
    """Nothing differs but the report's name."""
    for name in ("launches", "metrics", "instructions"):
        frames = (getattr(profile, name).drop(columns="report", errors="ignore") for profile in (found, expected))
        pd.testing.assert_frame_equal(*frames)
    assert found.units == expected.units
    assert {file: text for (_, file), text in found.sources.items()} == {
        file: text for (_, file), text in expected.sources.items()
    }


def test_several_shards_make_the_same_profile(transpose: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    check_shards(60_000, transpose, monkeypatch)


def check_shards(size: int, transpose: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "LEAST_SHARD", size)
    monkeypatch.setattr(reader, "LARGEST_SHARD", size)
    approved = approve(TRANSPOSE)
    shards = list(reader._shards(approved.snapshot, approved.header.launches, workers=2))
    approved.snapshot.close()
    assert len(shards) > 2
    assert [shard.start for shard in shards[1:]] == [shard.stop for shard in shards[:-1]]
    same(read([TRANSPOSE]), transpose)


def test_a_part_that_is_in_the_frames_is_nowhere_else(monkeypatch: pytest.MonkeyPatch) -> None:
    put: list[weakref.ref[LaunchColumns]] = []
    alive: list[int] = []

    class Watched(frames._Instructions):
        def put(self, part: LaunchColumns) -> None:
            alive.append(sum(each() is not None for each in put))
            put.append(weakref.ref(part))
            super().put(part)

    monkeypatch.setattr(frames, "_Instructions", Watched)
    monkeypatch.setattr(reader, "LEAST_SHARD", 1 << 17)
    monkeypatch.setattr(reader, "LARGEST_SHARD", 1 << 17)
    read([SMALL, SMALL])
    assert len(alive) >= 4
    assert alive == [0] * len(alive)
    assert not any(each() for each in put)


def test_code_that_several_launches_share_is_that_of_each(transpose: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    def each_its_own(path: Path, outliners: Outliners | None) -> Approved:
        approved = approve(path, outliners)
        launches = approved.header.launches
        assert -1 not in {launch.code for launch in launches}
        alone = tuple(launch._replace(code=-1) for launch in launches)
        return replace(approved, header=replace(approved.header, launches=alone))

    monkeypatch.setattr(reader, "approve", each_its_own)
    same(read([TRANSPOSE]), transpose)


def test_the_launches_of_a_large_report_are_those_that_it_repeats(transpose: Profile, tmp_path: Path) -> None:
    path = tmp_path / "many.ncu-rep"
    path.write_bytes(repeated(read_report(TRANSPOSE), 100))
    assert len({launch.code for launch in precheck(path).launches}) == len(transpose.launches)
    profile = read([path])
    places = [launch % len(transpose.launches) for launch in range(100)]
    assert profile.launches["index"].tolist() == list(range(100))
    assert profile.launches["kernel"].tolist() == [transpose.launches["kernel"].iloc[place] for place in places]
    np.testing.assert_array_equal(profile.metrics, transpose.metrics.iloc[places])
    assert (
        profile.instructions["sass"].iloc[-1]
        == transpose.instructions.loc[transpose.instructions["launch"] == places[-1], "sass"].iloc[-1]
    )
    assert len(profile.instructions) == sum((transpose.instructions["launch"] == place).sum() for place in places)


def test_a_shard_for_each_worker_within_the_bounds() -> None:
    launches = tuple(LaunchHeader(40_000, "k", 0) for _ in range(1_000))
    snapshot = Snapshot.of([b"x"])

    def shards(workers: int) -> list[Shard]:
        return list(reader._shards(snapshot, launches, workers))

    assert len(shards(1)) == 2  # 40 MB, a child reads at most 24 MiB
    assert len(shards(2)) == 2  # as many for each
    assert len(shards(5)) == 5
    assert len(shards(64)) == 19  # nor less than 2 MiB
    snapshot.close()


@pytest.fixture
def started_early(monkeypatch: pytest.MonkeyPatch) -> list[tuple[PrestartedChildren, int, str]]:
    """The children that start while a report is looked over, with how many and for which kernel."""
    started: list[tuple[PrestartedChildren, int, str]] = []

    class Noted(PrestartedChildren):
        def __init__(self, count: int = 1, kernel: str = "", *, with_code: bool = True) -> None:
            super().__init__(count, kernel, with_code=with_code)
            started.append((self, count, kernel))

    monkeypatch.setattr(reader, "PrestartedChildren", Noted)
    monkeypatch.setattr(reader, "MOST_CHILDREN", 3)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(4)))
    return started


@pytest.mark.parametrize("kernel", ["", "transposeCoalesced"])
def test_children_start_while_a_large_report_is_looked_over(
    started_early: list[tuple[PrestartedChildren, int, str]], monkeypatch: pytest.MonkeyPatch, kernel: str
) -> None:
    monkeypatch.setattr(reader, "LEAST_SHARD", TRANSPOSE.stat().st_size // 2)
    assert len(read([TRANSPOSE], kernel).launches)
    ((ahead, count, asked),) = started_early
    assert (count, asked, ahead._children) == (2, kernel, [])


def test_a_child_that_started_before_is_one_of_them(
    started_early: list[tuple[PrestartedChildren, int, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LEAST_SHARD", TRANSPOSE.stat().st_size // 9)
    with closing(PrestartedChildren()) as earlier:
        read([TRANSPOSE], prestarted=earlier)
    assert [count for _, count, _ in started_early] == [2]


@pytest.mark.usefixtures("started_early")
def test_children_that_have_nothing_to_read_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(reader, "LEAST_SHARD", 100)
    ended: list[int] = []
    end = child.Child.end

    def noted(started: child.Child) -> None:
        ended.append(started.process.pid)
        end(started)

    monkeypatch.setattr(child.Child, "end", noted)
    broken = tmp_path / "broken.ncu-rep"
    broken.write_bytes(b"x" * 1_000)
    with pytest.raises(ReportUnreadable):
        read([broken])
    assert len(ended) == 3 + 2  # readers, and parsers of launches


def test_for_a_small_report_none_starts_early(started_early: list[tuple[PrestartedChildren, int, str]]) -> None:
    read([TRANSPOSE])
    assert not started_early


def items_changed(report: bytes, change: Callable[[int, bytes], bytes]) -> bytes:
    """A report whose launches are these, each made of its number and what it was."""
    blocks, launch = [], 0
    for block in wire.blocks(report):
        items = [report[slice(*item)] for item in wire.items(report, block)]
        for place in range(block.sources, len(items)):
            items[place] = change(launch, items[place])
            launch += 1
        fields = [field for field in wire.fields(report, block.header) if field.number != 5]
        header = b"".join(report[field.start : field.end] for field in fields)
        blocks.append((header, b"".join(map(wire.encode_item, items))))
    return wire.encode_report(blocks)


def damage_of(profile: Profile) -> str:
    [info] = profile.reports
    return info.damage


def only(profile: Profile, launches: list[int]) -> pd.DataFrame:
    return profile.metrics.iloc[launches].reset_index(drop=True)


@pytest.fixture
def report(tmp_path: Path) -> Callable[[bytes], Path]:
    def write(data: bytes) -> Path:
        path = tmp_path / "x.ncu-rep"
        path.write_bytes(data)
        return path

    return write


@pytest.fixture(scope="module")
def small() -> Profile:
    """The recorded launches of the smallest family that several damaged reports are made of."""
    return read([SMALL])


File = Callable[[bytes], Path]


def test_a_complete_report_has_no_damage(small: Profile) -> None:
    assert damage_of(small) == ""


def test_a_cut_report_is_read_up_to_the_cut_and_says_so(small: Profile, report: File) -> None:
    data = read_report(SMALL)
    profile = read([report(data[: len(data) // 2])])
    count = len(profile.launches)
    assert 1 < count < len(small.launches)
    pd.testing.assert_frame_equal(profile.metrics, only(small, list(range(count)))[profile.metrics.columns])
    place = rf"block \d+ is damaged at byte [\d,]+ of {len(data) // 2:,}: a block runs past the end of the file"
    assert re.fullmatch(rf"launches 0 to {count - 1} were read; {place}", damage_of(profile))


def test_a_compressed_report_that_is_cut_is_read_up_to_the_cut(small: Profile, tmp_path: Path) -> None:
    path = tmp_path / "x.ncu-repz"
    complete = packed(read_report(SMALL))
    path.write_bytes(complete[: len(complete) * 4 // 5])
    profile = read([path])
    assert 0 < len(profile.launches) < len(small.launches)
    assert "unpacked" in damage_of(profile)


def test_a_report_that_is_cut_in_its_first_launch_is_refused(report: File) -> None:
    data = read_report(SMALL)
    first = next(block for block in wire.blocks(data) if block.kernels)
    with pytest.raises(ReportDamaged, match=r"block \d+ is damaged at byte") as refused:
        read([report(data[: first.payload.end - 1])])
    assert refused.value.id == "NCU-CORRUPT"


def test_launches_after_a_broken_one_keep_their_numbers(small: Profile, report: File) -> None:
    data = items_changed(read_report(SMALL), lambda launch, item: b"\xff\xff" if launch == 4 else item)
    profile = read([report(data)])
    others = [launch for launch in range(len(small.launches)) if launch != 4]
    assert profile.launches["index"].tolist() == others
    pd.testing.assert_frame_equal(profile.metrics, only(small, others)[profile.metrics.columns])
    assert damage_of(profile).startswith(
        f"launches 0 to 3 and 5 to {len(small.launches) - 1} of {len(small.launches)} were read; block "
    )


@pytest.mark.parametrize(
    "field",
    [
        pytest.param(wire.encode_field(1, 1) + wire.encode_field(2, wire.encode_field(5, 1)), id="written again"),
        pytest.param(wire.encode_field(1, 1) + wire.encode_field(4, 0), id="written again without a value"),
    ],
)
def test_what_ncu_writes_twice_with_set_full_is_no_damage(small: Profile, report: File, field: bytes) -> None:
    again = items_changed(read_report(SMALL), lambda _, item: item + wire.encode_field(13, field))
    profile = read([report(again)])
    assert (len(profile.launches), profile.failure) == (len(small.launches), None)


@pytest.mark.parametrize(
    ("field", "said"),
    [
        pytest.param(wire.encode_field(6, b"\xff\xfe"), "has names that are no text", id="name"),
        pytest.param(wire.encode_field(13, b"\xff"), "has a metric without a value", id="metric that is no message"),
        pytest.param(
            wire.encode_field(13, wire.encode_field(1, 1) + wire.encode_field(2, wire.encode_field(5, 1)) + b"\xff"),
            r"has 0 metrics, not \d+",
            id="metric that the reader refuses",
        ),
        pytest.param(
            wire.encode_field(13, wire.encode_field(1, 99_999) + wire.encode_field(2, wire.encode_field(5, 1))),
            "has metrics without a name",
            id="metric without a name",
        ),
    ],
)
def test_a_launch_with_something_missing_is_not_read(small: Profile, report: File, field: bytes, said: str) -> None:
    profile = read([report(items_changed(read_report(SMALL), lambda at, item: item + field if at == 2 else item))])
    assert profile.launches["index"].tolist() == [at for at in range(len(small.launches)) if at != 2]
    assert re.fullmatch(rf"launches 0 to 1 and 3 to 14 of 15 were read; launch 2 {said}", damage_of(profile))


def test_a_damaged_report_is_damaged_when_read_with_an_undamaged_one(small: Profile, report: File) -> None:
    data = read_report(SMALL)
    profile = read([report(data[:-1]), SMALL])
    assert [bool(info.damage) for info in profile.reports] == [True, False]
    assert len(profile.launches) == 2 * len(small.launches) - 1


def test_a_kernel_of_a_damaged_report_is_selected_and_the_damage_is_reported(small: Profile, report: File) -> None:
    kernel = small.launches["kernel"].iloc[0]
    profile = read([report(read_report(SMALL)[:-1])], kernel=kernel)
    assert set(profile.launches["kernel"]) == {kernel}
    assert damage_of(profile)


def test_a_kernel_that_may_be_in_the_lost_part_is_not_said_to_be_missing(transpose: Profile, report: File) -> None:
    data = read_report(TRANSPOSE)
    path = report(data[: len(data) * 3 // 4])
    kernel = min(set(transpose.launches["kernel"]) - set(read([path]).launches["kernel"]))
    said = rf"no launch of a kernel '{kernel}' among those that could be read; {path}: launches? .* read; block \d+ is"
    with pytest.raises(ReportDamaged, match=said) as refused:
        read([path], kernel=kernel)
    assert refused.value.id == "NCU-CORRUPT"
    assert transpose.launches["kernel"].iloc[0] in refused.value.hint
    with pytest.raises(ReportDamaged, match="among those that could be read"):
        read([SMALL, path], kernel=kernel)


def failing(monkeypatch: pytest.MonkeyPatch, fails: Callable[[Shard, bool], Failure | None]) -> None:
    """Let the child fail on some shards."""
    original = Children.read

    def read_shards(children: Children, shards: Sequence[Shard], *, with_code: bool) -> list[Answer | Failure]:
        for place, shard in enumerate(shards):
            if failure := fails(shard, with_code):
                before = original(children, shards[:place], with_code=with_code) if place else []
                return [*before, *[failure] * (len(shards) - place)]
        return original(children, shards, with_code=with_code)

    monkeypatch.setattr(Children, "read", read_shards)


def test_a_launch_that_crashes_nvidias_reader_is_left_out(small: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = Failure(4, "crashed NVIDIA's reader (signal 11)")
    failing(monkeypatch, lambda shard, _: crash if shard.start <= 4 < shard.stop else None)
    profile = read([SMALL])
    others = [launch for launch in range(len(small.launches)) if launch != 4]
    assert profile.launches["index"].tolist() == others
    assert (
        damage_of(profile)
        == "launches 0 to 3 and 5 to 14 of 15 were read; launch 4 crashed NVIDIA's reader (signal 11)"
    )


def test_code_that_crashes_nvidias_reader_is_left_out(small: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    crash = Failure(4, "crashed NVIDIA's reader (signal 11)")
    failing(monkeypatch, lambda _, with_code: crash if with_code else None)
    profile = read([SMALL])
    pd.testing.assert_frame_equal(profile.metrics, small.metrics)
    assert profile.instructions.empty
    assert damage_of(profile) == (
        "launches 0 to 14 of 15 were read, launches 0 to 14 were read without sources and machine code; launch 4 "
        "crashed NVIDIA's reader (signal 11)"
    )


def test_where_no_launch_can_be_read_the_report_is_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, lambda shard, _: Failure(None, "crashed NVIDIA's reader (signal 6)"))
    with pytest.raises(ReportDamaged, match=r"the report crashed NVIDIA's reader \(signal 6\)") as refused:
        read([SMALL])
    assert refused.value.id == "NCU-CORRUPT"


KILLED = Failure(4, "was being read when NVIDIA's reader was killed (signal 9)", scarce=True)


def test_what_this_machine_may_be_too_small_for_is_not_called_damaged(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, lambda shard, _: KILLED if shard.start <= 4 < shard.stop else None)
    profile = read([SMALL])
    assert damage_of(profile) == (
        "launches 0 to 3 and 5 to 14 of 15 were read; launch 4 was being read when NVIDIA's reader was killed "
        "(signal 9); the report is damaged, or this machine has too little memory or time to read it"
    )
    assert profile.failure
    assert (profile.failure.id, profile.failure.exit_code) == ("ReportUnreadable", 3)
    assert "Copy" not in profile.failure.hint
    assert "memory" in profile.failure.hint
    with pytest.raises(ReportUnreadable, match="no launch of a kernel 'gone' among those that could be read"):
        read([SMALL], kernel="gone")


def test_a_report_that_is_damaged_too_is_called_damaged(monkeypatch: pytest.MonkeyPatch, report: File) -> None:
    failing(monkeypatch, lambda shard, _: KILLED if shard.start <= 4 < shard.stop else None)
    profile = read([report(read_report(SMALL)[:-1])])
    assert "too little memory" not in damage_of(profile)
    assert profile.failure
    assert profile.failure.id == "NCU-CORRUPT"
    both = read([report(read_report(SMALL)[:-1]), SMALL])
    assert both.failure
    assert both.failure.id == "NCU-CORRUPT"


def test_where_no_launch_can_be_read_this_machine_may_be_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    failing(monkeypatch, lambda shard, _: replace(KILLED, launch=None))
    with pytest.raises(ReportUnreadable, match="or this machine has too little memory or time to read it") as refused:
        read([SMALL])
    assert "memory" in refused.value.hint


def test_reports_wait_until_there_is_room_for_them(small: Profile, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[Snapshot] = []
    most = 0

    def counted(path: Path, outliners: Outliners | None) -> Approved:
        nonlocal most
        held.append(approve(path, outliners).snapshot)
        most = max(most, sum(1 for snapshot in held if snapshot.size))
        return replace(approve(path, outliners), snapshot=held[-1])

    monkeypatch.setattr(reader, "MOST_HELD", 1)
    monkeypatch.setattr(reader, "approve", counted)
    profile = read([SMALL] * 3)
    assert most == 1
    assert len(profile.launches) == 3 * len(small.launches)
    assert not any(snapshot.size for snapshot in held)


def test_after_any_failure_no_report_is_open(tmp_path: Path) -> None:
    before = {file.name for file in Path("/proc/self/fd").iterdir()}
    with pytest.raises(ReportUnreadable):
        read([SMALL, tmp_path / "missing.ncu-rep"])
    assert {file.name for file in Path("/proc/self/fd").iterdir()} == before


def test_a_report_under_another_name_is_read_as_it_is_there(small: Profile, tmp_path: Path) -> None:
    path = tmp_path / "naïve 'report' $(x).ncu-repz"
    shutil.copy(SMALL, path)
    same(read([path]), small)


def test_launches_that_nvidias_reader_finds_empty_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "made.ncu-rep"
    path.write_bytes(builder.report(launches=2))
    assert precheck(path).results == 2
    with pytest.raises(ReportDamaged, match=r"made\.ncu-rep: launch 0 has 0 metrics, not 4"):
        read([path])


@pytest.mark.parametrize("seed", range(12))
def test_a_changed_report_loses_no_launch_unsaid_and_no_metric_that_was_not_hit(
    small: Profile, report: File, seed: int
) -> None:
    chance = random.Random(seed)
    data = bytearray(read_report(SMALL))
    for _ in range(8):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    try:
        profile = read([report(bytes(data))])
    except ReportDamaged:
        return
    assert len(profile.launches) == len(small.launches) or damage_of(profile)
    known = small.metrics.notna().sum(axis=1)
    lost = [
        known.iloc[index] - profile.metrics.iloc[row].notna().sum()
        for row, index in enumerate(profile.launches["index"])
    ]
    # A flipped bit can make a metric's number that of another, since reports have no checksum: one of all these does.
    assert all(count >= 0 for count in lost)
    assert sum(lost) == (1 if seed == 8 else 0)
