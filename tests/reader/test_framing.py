"""The framing of a report: what it gives for each launch, and how much is used where it breaks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ncuview.base.errors import ReportError
from ncuview.base.paths import shipped
from ncuview.reader import wire
from ncuview.reader.framing import Framing, framing, intact_part
from ncuview.reader.precheck import checked_header, read_report
from tests.reader import builder

METRICS = dict.fromkeys(builder.METRICS, 1.0)
LAUNCH = builder.kernel(METRICS)
SOURCE = builder.source()
RECORDED = sorted(shipped("kernels").glob("*/*.ncu-repz"))


def report(*blocks: tuple[bytes, bytes]) -> bytes:
    return wire.encode_report(blocks)


def launches(count: int = 1) -> tuple[bytes, bytes]:
    return builder.block(kernels=[LAUNCH] * count)


def broken(count: int = 1, *, sources: int = 0, payload: bytes = b"\xff" * 400) -> tuple[bytes, bytes]:
    """A block with a payload that is no row of messages."""
    return builder.block(sources=[SOURCE] * sources, kernels=[LAUNCH] * count)[0], payload


def again(data: bytes) -> Framing:
    """The framing of the intact part."""
    return framing(b"".join(intact_part(data, framing(data))))


def test_each_launch_has_its_size_and_number_of_metrics() -> None:
    found = framing(report(launches(2)))
    assert [(launch.size, launch.metrics) for launch in found.header.launches] == [(len(LAUNCH), len(METRICS))] * 2
    assert (found.damage, found.announced) == ((), 2)


def process(number: int, program: bytes = b"") -> bytes:
    return wire.encode_field(1, number) + wire.encode_field(2, b"host") + wire.encode_field(3, program)


def of_threads(*numbers: int) -> list[bytes]:
    return [wire.encode_field(1, number) + LAUNCH for number in numbers]


def processes(*blocks: tuple[bytes, bytes]) -> list[int]:
    return [launch.process for launch in framing(report(*blocks)).header.launches]


def test_each_launch_has_the_process_of_its_block() -> None:
    found = framing(
        report(
            builder.block(kernels=of_threads(11, 99), process=process(11, b"/home/alice/bin/python3")),
            builder.block(kernels=of_threads(12, 98), process=process(12, b"C:\\bin\\app.exe")),
        )
    )
    assert [launch.process for launch in found.header.launches] == [11, 11, 12, 12]
    assert found.header.processes == {11: "python3", 12: "app.exe"}
    assert found.damage == ()


def test_other_threads_are_of_the_only_process_of_a_report() -> None:
    assert processes(builder.block(kernels=of_threads(11, 99), process=process(11))) == [11, 11]


def test_a_block_of_several_processes_tells_only_those_of_first_threads() -> None:
    several = builder.block(kernels=of_threads(11, 12, 99), process=process(11), more_processes=[process(12)])
    assert processes(several) == [11, 12, 0]


def test_an_impossible_process_number_is_unknown() -> None:
    assert processes(builder.block(kernels=of_threads(7), process=process(1 << 40))) == [0]


def test_the_number_of_metrics_of_ranges_is_unknown() -> None:
    [launch] = framing(report((wire.encode_field(7, 1), wire.encode_item(b"")))).header.launches
    assert (launch.metrics, launch.damage) == (None, "")


def test_launches_of_one_kernel_of_one_module_have_the_same_code() -> None:
    def of_module(number: int, name: bytes) -> bytes:
        return LAUNCH + wire.encode_field(5, name) + wire.encode_field(15, wire.encode_field(1, number))

    sources = [
        wire.encode_field(1, 7) + SOURCE,
        wire.encode_field(1, 8) + SOURCE,
        wire.encode_field(1, 8) + b"\x10\1",
    ]
    kernels = [of_module(7, b"a"), of_module(7, b"b"), of_module(7, b"a"), of_module(9, b"a"), of_module(8, b"a")]
    unnamed = [LAUNCH, LAUNCH + wire.encode_field(5, b"a") + wire.encode_field(15, b"\xff")]
    nowhere = LAUNCH + wire.encode_field(5, b"a") + wire.encode_field(15, b"")
    found = framing(report(builder.block(sources=[*sources, b""], kernels=[*kernels, *unnamed, nowhere])))
    # 9 is not there, and there are two modules 8.
    assert [launch.code for launch in found.header.launches] == [0, 1, 0, -1, -1, -1, -1, -1]


def test_a_cut_report_is_intact_up_to_the_last_complete_block() -> None:
    complete = report(launches(), launches(), launches())
    cut = complete[:-5]
    found = framing(cut)
    assert [len(found.header.launches), found.announced] == [2, None]
    assert found.damage[0].startswith("block 2 is damaged at byte ")
    assert f" of {len(cut):,}: " in found.damage[0]
    assert b"".join(intact_part(cut, found)) == complete[: found.end] == report(launches(), launches())


def test_a_block_whose_launches_are_broken_does_not_end_the_report() -> None:
    data = report(*builder.session_blocks(), launches(), broken(2), launches())
    found = framing(data)
    assert found.announced == len(found.header.launches) == 4
    assert [bool(launch.damage) for launch in found.header.launches] == [False, True, True, False]
    assert len(found.damage) == 1
    rest = again(data)
    assert rest.damage == ()
    assert [launch.metrics for launch in rest.header.launches] == [4, 0, 0, 4]
    assert (rest.header.ncu_version, rest.header.created) == ("2025.3.1", builder.CREATED)


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(broken(sources=1), id="machine code"),
        pytest.param(broken(100, payload=b"\xff" * 399), id="more launches than bytes for them"),
        pytest.param(broken(0), id="no launches, but bytes"),
        pytest.param(broken(101, payload=bytes(4 * 102)), id="very many launches"),
    ],
)
def test_blocks_after_such_a_broken_block_are_not_used(block: tuple[bytes, bytes]) -> None:
    data = report(launches(), block, launches())
    found = framing(data)
    assert (len(found.header.launches), found.announced) == (1, None)
    assert b"".join(intact_part(data, found)) == report(launches())


def test_of_very_many_broken_blocks_the_first_hundred_are_passed_over() -> None:
    found = framing(report(launches(), *[broken()] * 101, launches()))
    assert (len(found.broken), len(found.header.launches), found.announced) == (100, 101, None)


def test_a_session_that_is_no_message_is_damage() -> None:
    found = framing(report(launches(), builder.block(session=b"\xff\xff", kernels=[LAUNCH])))
    assert (len(found.header.launches), len(found.damage)) == (1, 1)


def metric(value: bytes) -> bytes:
    return wire.encode_field(13, wire.encode_field(1, 200) + value)


@pytest.mark.parametrize(
    ("value", "complete"),
    [
        (wire.encode_field(2, wire.encode_field(5, 0)), True),
        (wire.encode_field(2, wire.encode_field(1, b"H200" * 100)), True),
        (wire.encode_field(2, b"\x19" + bytes(8)), True),
        (wire.encode_field(2, b"\x15" + bytes(4)), True),
        (wire.encode_field(2, b""), True),
        (b"", True),
        (wire.encode_field(3, b"of an instruction"), True),
        (wire.encode_field(4, 0), True),
        (wire.encode_field(2, wire.encode_field(7, 1)), False),
        (wire.encode_field(6, wire.encode_field(5, 1)), False),
    ],
)
def test_a_metric_whose_value_has_become_something_else_is_damage_of_its_launch(value: bytes, complete: bool) -> None:
    found = framing(report(builder.block(kernels=[LAUNCH, LAUNCH + metric(value)])))
    assert found.damage == ()
    assert [launch.damage for launch in found.header.launches] == [
        "",
        "" if complete else "launch 1 has a metric without a value",
    ]


def test_a_metric_that_is_written_twice_is_one() -> None:
    twice = metric(wire.encode_field(2, wire.encode_field(5, 0)))
    once, both = framing(report(builder.block(kernels=[LAUNCH + twice, LAUNCH + twice + twice]))).header.launches
    assert once.metrics == both.metrics


def test_a_launch_without_metrics_is_damage() -> None:
    [launch] = framing(report(builder.block(kernels=[b""]))).header.launches
    assert launch.damage == "launch 0 has no metrics"


def test_a_version_of_ncu_is_found_among_others() -> None:
    entries = [(b"Nsight Compute Target", b"2026.1"), (b"CUDA Version", b"13.0"), (b"Nsight Compute Target", b"x")]
    for order in (entries, entries[::-1]):
        session = b"".join(wire.encode_field(8, wire.encode_field(1, a) + wire.encode_field(2, b)) for a, b in order)
        assert framing(report(builder.block(session=session))).header.ncu_version == "2026.1"


@given(st.data())
@settings(max_examples=200)
def test_the_intact_part_of_any_changed_report_is_a_complete_report_with_the_same_launches(data: st.DataObject) -> None:
    changed = bytearray(builder.report(launches=4))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(changed) - 1))
        changed[place : place + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=8))
    found = framing(bytes(changed))
    if not found.header.launches:
        return
    rest = again(bytes(changed))
    assert rest.damage == ()
    for before, after in zip(found.header.launches, rest.header.launches, strict=True):
        assert after.metrics == 0 if before.damage.startswith("block") else before == after


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.parent.name)
def test_nothing_of_a_recorded_report_is_called_damaged(path: Path) -> None:
    data = read_report(path)
    found = framing(data)
    assert found.damage == ()
    assert not any(launch.damage for launch in found.header.launches)
    assert b"".join(intact_part(data, found)) == data


def test_a_report_that_ends_at_a_block_is_a_shorter_one() -> None:
    complete = report(launches(), launches())
    assert checked_header(report(launches()), Path("x")).results == 1
    with pytest.raises(ReportError):
        checked_header(complete[:-1], Path("x"))
