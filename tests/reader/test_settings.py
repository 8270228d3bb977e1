"""ncu's settings, read from the command line in a report; unknown where it is missing."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import ReportUnreadable
from ncuview.base.paths import shipped
from ncuview.profiling.ncu import ncu_command
from ncuview.reader import wire
from ncuview.reader.settings import Session, Settings, session_of, settings_in, settings_of
from tests.reader import builder

DEFAULTS = Settings("base", "all", "kernel")


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("ncu ./app", DEFAULTS),
        ("/opt/nvidia/nsight-compute/2025.3.1/target/linux/ncu ./app", DEFAULTS),
        (r"C:\Program Files\NVIDIA\ncu.exe --clock-control none app.exe", Settings("none", "all", "kernel")),
        ("ncu --clock-control=none --cache-control=none ./app", Settings("none", "none", "kernel")),
        ("ncu --clock-control none --cache-control  none ./app", Settings("none", "none", "kernel")),
        ("ncu --replay-mode application --clock-control BASE app", Settings("base", "all", "application")),
        ("ncu --clock-control 'none' app", Settings("none", "all", "kernel")),
        ("ncu --clock-control none app --clock-control base", Settings("none", "all", "kernel")),
        ("ncu app --no-clock-control none", DEFAULTS),
        ("nv-nsight-cu-cli app", DEFAULTS),
        ("", Settings()),
        ("/usr/bin/python3 app.py --clock-control=none", Settings()),
        ("/home/ncurses/app --clock-control=none", Settings()),
    ],
)
def test_a_command_line_says_what_was_controlled(command: str, found: Settings) -> None:
    assert settings_in(command) == found


def test_our_own_command_line_is_understood(tmp_path: Path) -> None:
    command = ncu_command(Path("/opt/ncu"), ["a", "b"], tmp_path / "r", ["/bin/true"])
    assert settings_in(" ".join(command)) == Settings("none", "all", "kernel")


@given(st.text(max_size=60))
def test_no_command_line_confuses_it(text: str) -> None:
    for value in vars(settings_in(f"ncu {text}")).values():
        assert value
        assert not any(character.isspace() for character in value)


def test_a_report_with_its_command_line_gives_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "x.ncu-rep"
    path.write_bytes(builder.report())
    assert settings_of(path) == DEFAULTS
    session = wire.encode_field(11, b"/opt/ncu --cache-control=none app")
    path.write_bytes(wire.encode_report([builder.block(session=session), *builder.session_blocks()]))
    assert settings_of(path) == Settings("base", "none", "kernel")


def test_a_report_names_the_cuda_version_of_its_driver(tmp_path: Path) -> None:
    path = tmp_path / "x.ncu-rep"
    path.write_bytes(builder.report())
    assert session_of(path) == Session(DEFAULTS, "13.0")
    path.write_bytes(builder.report()[:-3])
    assert session_of(path).cuda_version == "13.0"


def test_a_scrubbed_report_gives_no_settings() -> None:
    assert settings_of(shipped("kernels") / "transpose" / "h200.ncu-repz") == Settings()


def test_a_csv_export_gives_no_settings(tmp_path: Path) -> None:
    assert settings_of(tmp_path / "export.csv") == Settings()


def test_a_file_that_is_no_report_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.ncu-rep"
    with pytest.raises(ReportUnreadable):
        settings_of(path)


def test_a_damaged_report_gives_settings_from_before_the_damage(tmp_path: Path) -> None:
    path = tmp_path / "x.ncu-rep"
    session = wire.encode_field(11, b"/opt/ncu --cache-control=none app")
    complete = wire.encode_report([builder.block(session=session), *builder.session_blocks()])
    path.write_bytes(complete[:-1])
    assert settings_of(path) == Settings("base", "none", "kernel")
    path.write_bytes(complete[:20])
    assert settings_of(path) == Settings()
