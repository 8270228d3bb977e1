"""From the bytes of a report, through NVIDIA's reader and the command line, to the output: names have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

import pytest

from ncuview.base.paths import shipped
from ncuview.reader import wire
from ncuview.reader.precheck import read_report
from ncuview.reader.wire import Block, encode_field, encode_item, encode_report
from ncuview.render.outputs import FORMATS
from tests.command_line import ncuview
from tests.hostile import PAYLOADS
from tests.hostility.judges import JUDGES, check_log, check_text

RECORDED = shipped("kernels") / "bank_patterns" / "h200.ncu-repz"
NAMES = {6, 7}
"""Fields of a launch: its function's name, and the demangled one."""
PAYLOAD_SIZE = 5


def writable(text: str) -> bool:
    """Whether it can stand in a report as a name: UTF-8, and not empty."""
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


TEXTS = list(filter(writable, PAYLOADS.values()))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The launches of a recorded report, again and again, with a text each instead of their kernels' names."""
    data = bytes(read_report(RECORDED))
    own = list(wire.blocks(data))
    launches = sum(block.kernels for block in own)
    again = -(-len(TEXTS) // launches)
    texts = iter(TEXTS)
    contents = [(header(data, block), payload(data, block, texts)) for block in islice(cycle(own), again * len(own))]
    path = tmp_path_factory.mktemp("hostile") / "hostile.ncu-rep"
    path.write_bytes(encode_report(contents))
    return path


def header(data: bytes, block: Block) -> bytes:
    fields_left = (field for field in wire.fields(data, block.header) if field.number != PAYLOAD_SIZE)
    return b"".join(data[field.start : field.end] for field in fields_left)


def payload(data: bytes, block: Block, texts: Iterator[str]) -> bytes:
    made = b""
    for place, item in enumerate(wire.items(data, block)):
        text = next(texts, "kernel").encode() if place >= block.sources else b""
        fields = wire.fields(data, item)
        made += encode_item(
            b"".join(
                encode_field(field.number, text) if text and field.number in NAMES else data[field.start : field.end]
                for field in fields
            )
        )
    return made


def test_names_in_a_report_do_nothing(report: Path, tmp_path: Path) -> None:
    outputs = [word for to in FORMATS for word in ("--output", f"{to}:out.{to}")]
    ended = ncuview("analyze", report, *outputs, cwd=tmp_path)
    assert ended.code == 0, ended.err
    check_text(ended.err)
    check_log(ended.out)
    for to, form in FORMATS.items():
        content = (tmp_path / f"out.{to}").read_bytes()
        JUDGES[to](content if form.binary else content.decode())


@pytest.mark.parametrize("pattern", ["regex:(a+)+$", "regex:(a*)*b", "regex:^(([a-z])+.)+[A-Z]([a-z])+$"])
def test_a_catastrophic_pattern_is_no_catastrophe(report: Path, pattern: str) -> None:
    ended = ncuview("analyze", report, "-k", pattern)
    assert ended.code in {0, 3}, ended.err
