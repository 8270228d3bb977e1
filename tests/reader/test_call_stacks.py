"""The calls on the host that led to a launch, and the ranges around it, are read from the report's bytes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.reader.call_stacks import with_call_stacks
from ncuview.reader.wire import encode_field
from ncuview.records.profile import CallStack, Frame, Profile, ReportInfo
from tests.builders import Launch, make_profile
from tests.reader import builder

PYTHON = Frame("step", f"{builder.WORKING_FOLDER.decode()}/train.py", 12)
NATIVE = Frame("cudaLaunchKernel", "/opt/libcudart.so.13", 0)


def profile_of(report: Path, launches: int) -> Profile:
    """A profile of a report that NVIDIA's reader would have read."""
    made = make_profile(*[Launch()] * launches, report=str(report))
    return replace(made, reports=(ReportInfo(str(report), "", None),))


def stacks_of(report: Path, launches: int = 2) -> dict[int, CallStack]:
    return dict(with_call_stacks(profile_of(report, launches)).call_stacks)


def test_each_launch_has_its_python_and_its_native_stack(tmp_path: Path) -> None:
    report = tmp_path / "a.ncu-rep"
    report.write_bytes(builder.report(2, more=builder.call_stacks()))
    found = stacks_of(report)
    assert found == dict.fromkeys((0, 1), CallStack((PYTHON,), (NATIVE,)))
    assert found[0].python is found[1].python


def test_a_native_frame_has_its_source_where_its_line_is_known(tmp_path: Path) -> None:
    places = [encode_field(1, b"/a/app"), encode_field(3, b"/a/app.cu"), encode_field(4, b"main")]
    frames = [b"".join([*places, *line]) for line in ([encode_field(5, 12)], [])]
    report = tmp_path / "a.ncu-rep"
    report.write_bytes(builder.report(1, more=encode_field(28, b"".join(encode_field(1, each) for each in frames))))
    [stack] = stacks_of(report, 1).values()
    assert stack.native == (Frame("main", "/a/app", 12, "/a/app.cu"), Frame("main", "/a/app", 0))


def test_frames_stand_innermost_first_and_long_stacks_are_cut(tmp_path: Path) -> None:
    frames = [encode_field(1, encode_field(4, b"f%d" % depth) + encode_field(5, depth)) for depth in range(600)]
    report = tmp_path / "a.ncu-rep"
    report.write_bytes(builder.report(1, more=encode_field(32, b"".join(frames))))
    [stack] = stacks_of(report, 1).values()
    assert [frame.line for frame in stack.python] == list(range(512))


def test_a_report_without_stacks_and_a_missing_file_have_none(tmp_path: Path) -> None:
    report = tmp_path / "a.ncu-rep"
    assert stacks_of(report) == {}
    report.write_bytes(builder.report(2))
    assert stacks_of(report) == {}


@pytest.mark.parametrize("stack", [b"\xff", encode_field(1, b"\xff\xff"), encode_field(1, encode_field(5, b"12"))])
def test_damaged_stacks_are_left_out(tmp_path: Path, stack: bytes) -> None:
    report = tmp_path / "a.ncu-rep"
    report.write_bytes(builder.report(1, more=encode_field(32, stack)))
    assert all(frame.line >= 0 for found in stacks_of(report, 1).values() for frame in found.python)


@given(st.binary(max_size=64))
def test_no_bytes_in_a_stack_end_the_reading(tmp_path_factory: pytest.TempPathFactory, stack: bytes) -> None:
    report = tmp_path_factory.mktemp("report") / "a.ncu-rep"
    report.write_bytes(builder.report(1, more=encode_field(28, stack)))
    stacks_of(report, 1)


def ranges_of(report: Path) -> dict[int, tuple[str, ...]]:
    return dict(with_call_stacks(profile_of(report, 2)).nvtx_ranges)


def test_each_launch_has_the_ranges_of_its_own_thread(tmp_path: Path) -> None:
    report = tmp_path / "a.ncu-rep"
    report.write_bytes(builder.report(2, more=builder.nvtx(b"step", b"aten::mul, seq = 12")))
    found = ranges_of(report)
    assert found == dict.fromkeys((0, 1), ("step", "aten::mul, seq = 12"))
    assert found[0] is found[1]
    assert stacks_of(report) == {}


def test_ranges_of_other_domains_and_threads_are_left_out(tmp_path: Path) -> None:
    other_domain, other_thread = tmp_path / "a.ncu-rep", tmp_path / "b.ncu-rep"
    other_domain.write_bytes(builder.report(2, more=builder.nvtx(b"sort", domain=3)))
    other_thread.write_bytes(builder.report(2, more=builder.nvtx(b"sort", thread=1016)))
    assert ranges_of(other_domain) == ranges_of(other_thread) == {}


@given(st.binary(max_size=64))
def test_no_bytes_in_ranges_end_the_reading(tmp_path_factory: pytest.TempPathFactory, state: bytes) -> None:
    report = tmp_path_factory.mktemp("report") / "a.ncu-rep"
    report.write_bytes(builder.report(1, more=encode_field(1, 5) + encode_field(21, state)))
    ranges_of(report)
