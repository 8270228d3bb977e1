"""The table of attainable shares: the user's own section comes first, and a file that cannot be used is named."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from ncuview.api import load_rules
from ncuview.base.errors import TableError
from ncuview.base.paths import users_table
from ncuview.engine.rank import diagnose
from ncuview.gpus import DEFAULT, DERIVING, FIGURES, shipped_tables
from ncuview.metrics.analysis import Analysis
from ncuview.metrics.units import UNITS
from ncuview.records.profile import Attained, Calibration, Figure
from ncuview.records.program import ProgramGpu
from ncuview.speedup.attainable import (
    Section,
    attainable,
    check_writable,
    of_gpu,
    program_figures,
    read_table,
    save_calibration,
)
from ncuview.speedup.model import load_of
from tests.builders import H200, Launch, make_profile

OTHER = "NVIDIA Unheard-of"
MINE = Path("ncuview", "attainable.toml")

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Make this text the user's table."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))

    def written(text: str) -> Path:
        path = tmp_path / MINE
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return written


def measured(device: str = OTHER, best: float = 0.8, more: Mapping[str, Attained] = {}) -> Calibration:
    shares = {"dram": Attained(0.7, best, 0.9, "dramRead"), "lsu": Attained(0.75, 0.9, 1.0, "", "no launch")}
    figures = {"launch_ns": Figure(2100.0, "emptyKernel"), "memory_ns": Figure(800.0, "", "no launch")}
    return Calibration(device, "2026-11-21, ncu 2025.3.1", {**shares, **more}, figures)


# Whose figures count


def test_the_users_section_comes_first_and_the_shipped_table_gives_missing_figures(write: Write) -> None:
    shipped = of_gpu(H200)
    write(f'["{H200}"]\nlaunch_ns = 1234\ndram = {{ low = 0.5, best = 0.6, high = 0.7 }}\n')
    assert attainable(H200, "dram", "best") == 0.6
    assert of_gpu(H200)["launch_ns"] == 1234
    assert of_gpu(H200)["memory_ns"] == shipped["memory_ns"]
    assert attainable(H200, "xu", "low") == shipped["xu"]["low"]


def test_a_table_of_0_1_is_read(write: Write) -> None:
    write(Path(__file__).with_name("attainable-0.1.toml").read_text(encoding="utf-8"))
    assert (of_gpu(H200)["launch_ns"], attainable(H200, "dram", "best")) == (1664.0, 0.891)


def test_a_table_that_cannot_be_read_says_how_to_make_it_again(write: Write) -> None:
    old = Path(__file__).with_name("attainable-0.1.toml").read_text(encoding="utf-8")
    path = write(old.replace("l2_in", "l2_front"))
    with pytest.raises(TableError, match="l2_front") as caught:
        read_table(path)
    assert "run `ncuview calibrate` again" in caught.value.hint


def test_a_section_of_another_gpu_changes_nothing(write: Write) -> None:
    before = of_gpu(H200), of_gpu(OTHER)
    write('["NVIDIA Third"]\nlaunch_ns = 1234\n')
    assert (of_gpu(H200), of_gpu(OTHER)) == before


def test_predictions_rest_on_the_users_section(write: Write) -> None:
    launch = make_profile(Launch(device=OTHER))
    before = load_of(Analysis(launch)).attainable["best"]["l2_out"][0]
    write(f'["{OTHER}"]\nl2_out = {{ low = 0.5, best = 0.6, high = 0.7 }}\n')
    assert (before, load_of(Analysis(launch)).attainable["best"]["l2_out"][0]) == (0.9, 0.6)


def test_a_gpu_that_was_not_measured_is_reported_as_assumed(write: Write) -> None:
    rules = load_rules()[:1]
    remark = diagnose(make_profile(Launch(device=OTHER), Launch(device=H200)), rules, chosen_from=rules).remark
    assert remark == f"attainable shares are assumed for {OTHER}: `ncuview calibrate` measures them"
    write(f'["{OTHER}"]\nlaunch_ns = 1234\n')
    assert diagnose(make_profile(Launch(device=OTHER)), rules, chosen_from=rules).remark == ""


def test_nothing_is_assumed_of_a_shipped_gpu() -> None:
    assert diagnose(make_profile(), load_rules()).remark == ""


def test_the_shipped_sections_are_what_a_users_may_be() -> None:
    of_default = {"unit", *DERIVING}
    for device, table in shipped_tables().items():
        of_all = {name: value for name, value in table.items() if device != DEFAULT or name not in of_default}
        Section.model_validate(of_all)
    assert of_default <= shipped_tables()[DEFAULT].keys()


def test_a_table_may_say_every_figure_that_rules_may_ask_for() -> None:
    assert set(FIGURES) <= set(Section.model_fields)
    assert set(Section.model_fields) - set(UNITS) - {"measured"} == {*FIGURES, "tensor_speedup"}


def test_rules_over_programs_get_the_figures_of_the_gpu() -> None:
    assert program_figures("NVIDIA Unheard-of") == ProgramGpu()
    assert program_figures("NVIDIA H200") == ProgramGpu(launch_ns=1_600.0, l2_bytes=62_914_560.0)


def test_the_users_table_may_have_another_speedup_of_tensor_pipes(write: Write) -> None:
    write('["NVIDIA H200"]\ntensor_speedup = { low = 3.0, best = 6.0, high = 14.0 }\n')
    assert program_figures("NVIDIA H200").tensor_speedup == (3.0, 6.0, 14.0)


@pytest.mark.parametrize("bounds", ["{ low = 6.0, best = 3.0, high = 14.0 }", "{ low = 0.5, best = 3.0, high = 14.0 }"])
def test_a_speedup_of_tensor_pipes_has_bounds_in_order_from_1(write: Write, bounds: str) -> None:
    write(f'["NVIDIA H200"]\ntensor_speedup = {bounds}\n')
    with pytest.raises(TableError, match="tensor_speedup"):
        program_figures("NVIDIA H200")


# Where it lies


def test_it_lies_below_the_folder_for_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert users_table() == tmp_path / MINE


@pytest.mark.parametrize("named", [None, "", "relative"])
def test_that_is_dot_config_where_no_absolute_one_is_named(
    named: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    if named is not None:
        monkeypatch.setenv("XDG_CONFIG_HOME", named)
    assert users_table() == tmp_path / ".config" / MINE


def test_a_user_without_a_home_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setattr(Path, "home", homeless)
    assert users_table() is None
    assert of_gpu(H200)["launch_ns"] == 1600


# A table that cannot be used


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[GPU\n", "line 1"),
        ("launch_ns = 3\n", "launch_ns"),
        ("[default]\nlaunch_ns = 3\n", "default"),
        ("[GPU]\ndram = { low = 0.0, best = 0.5, high = 1.0 }\n", "GPU.dram.low"),
        ("[GPU]\ndram = { low = 0.1, best = 0.5, high = 1.06 }\n", "GPU.dram.high"),
        ("[GPU]\ndram = { low = 0.1, best = nan, high = 1.0 }\n", "GPU.dram.best"),
        ("[GPU]\ndram = { low = 0.6, best = 0.5, high = 1.0 }\n", "not in this order"),
        ("[GPU]\ndram = { low = 0.1, best = 0.5 }\n", "GPU.dram.high"),
        ("[GPU]\ndram = 0.9\n", "GPU.dram"),
        ("[GPU]\ndramm = { low = 0.1, best = 0.5, high = 1.0 }\n", "GPU.dramm"),
        ("[GPU]\nlaunch_ns = -1\n", "GPU.launch_ns"),
        ("[GPU]\nlaunch_ns = inf\n", "GPU.launch_ns"),
        ('[GPU]\nlaunch_ns = "2000"\n', "GPU.launch_ns"),
        ("[GPU]\nblocks_per_ns = 0\n", "GPU.blocks_per_ns"),
        ("[GPU]\ndram_write_cost = 1.0\n", "GPU.dram_write_cost"),
        ("[GPU]\nmeasured = '''a\n[b]\n'''\n", "GPU.measured"),
        ("[[GPU]]\nlaunch_ns = 3\n", "GPU"),
        ("GPU = " + "[" * 100_000, "nested too deep"),
    ],
)
def test_it_is_an_error_that_names_file_and_key(write: Write, text: str, says: str) -> None:
    path = write(text)
    with pytest.raises(TableError) as raised:
        load_of(Analysis(make_profile()))
    assert str(raised.value).startswith(f"{path}: ")
    assert says in str(raised.value)
    assert raised.value.exit_code == 2
    assert "ncuview calibrate" in raised.value.hint


def test_bytes_that_are_no_text_are_an_error_too(write: Write) -> None:
    path = write("")
    path.write_bytes(b"\xff")
    with pytest.raises(TableError, match="utf-8"):
        of_gpu(H200)


def test_so_is_a_folder_in_its_place(write: Write) -> None:
    path = write("")
    path.unlink()
    path.mkdir()
    with pytest.raises(TableError, match="directory"):
        of_gpu(H200)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_one_that_may_not_be_read_is_an_error_and_another_users_home_is_none(write: Write) -> None:
    path = write(f'["{H200}"]\nlaunch_ns = 1234\n')
    path.chmod(0)
    with pytest.raises(TableError, match="denied"):
        of_gpu(H200)
    path.parent.chmod(0)
    assert of_gpu(H200)["launch_ns"] == 1600
    path.parent.chmod(0o700)


def test_no_table_and_an_empty_one_are_none(write: Write) -> None:
    assert read_table(write("")) == {}
    assert read_table(Path("/no/such/table.toml")) == {}
    assert read_table(Path("/dev/null/table.toml")) == {}


# Keeping a section


def test_what_was_measured_is_saved_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "new" / "table.toml"
    check_writable(path)
    save_calibration(measured(), path)
    assert read_table(path) == {
        OTHER: {
            "measured": "2026-11-21, ncu 2025.3.1",
            "launch_ns": 2100.0,
            "dram": {"low": 0.7, "best": 0.8, "high": 0.9},
        }
    }
    assert "# dramRead" in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o077 == 0
    assert list(path.parent.iterdir()) == [path]


def test_other_gpus_keep_their_sections_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    first = '# mine\n[ "GPU 1" ]  # at work\nlaunch_ns = 3 # slow\n'
    last = "  [GPU.dram]\n  low = 0.5\n  best = 0.6\n  high = 0.7\n"
    path.write_text(f"{first}\n['{OTHER}']\nlaunch_ns = 9\n\n{last}", encoding="utf-8")
    save_calibration(measured(best=0.81), path)
    save_calibration(measured(best=0.82), path)
    text = path.read_text(encoding="utf-8")
    assert text.startswith(first)
    assert last in text
    assert text.count(OTHER) == 1
    assert read_table(path)[OTHER]["dram"]["best"] == 0.82
    assert read_table(path)[OTHER]["launch_ns"] == 2100.0
    assert read_table(path).keys() == {"GPU 1", "GPU", OTHER}


def test_sections_that_cannot_be_separated_are_not_changed(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text(f'"{OTHER}".launch_ns = 9\nGPU.launch_ns = 3\n', encoding="utf-8")
    before = path.read_bytes()
    with pytest.raises(TableError, match="separated"):
        save_calibration(measured(), path)
    assert path.read_bytes() == before


def test_any_device_name_can_be_saved(tmp_path: Path) -> None:
    name = 'GPU "x" \\ ] \x1b \x7f # é'
    path = tmp_path / "table.toml"
    save_calibration(measured(name), path)
    save_calibration(measured(), path)
    assert read_table(path).keys() == {name, OTHER}


def test_a_broken_table_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    path.write_text("[GPU\n", encoding="utf-8")
    for act in (check_writable, lambda table: save_calibration(measured(), table)):
        with pytest.raises(TableError, match=r"table\.toml"):
            act(path)
    assert path.read_text(encoding="utf-8") == "[GPU\n"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "dotfiles").mkdir()
    link = tmp_path / "table.toml"
    link.symlink_to(tmp_path / "dotfiles" / "table.toml")
    save_calibration(measured(), link)
    assert link.is_symlink()
    assert OTHER in read_table(tmp_path / "dotfiles" / "table.toml")


def test_readers_never_see_an_incomplete_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.toml"
    save_calibration(measured(best=0.81), path)
    seen = []

    def on_disk(descriptor: int) -> None:
        seen.append((read_table(path)[OTHER]["dram"]["best"], os.fstat(descriptor).st_size > 0))

    monkeypatch.setattr(os, "fsync", on_disk)
    save_calibration(measured(best=0.82), path)
    assert seen == [(0.81, True), (0.82, True)]  # the file's bytes, then the folder's entry
    assert read_table(path)[OTHER]["dram"]["best"] == 0.82


def test_a_full_disk_leaves_the_old_table_and_no_temporary_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "table.toml"
    save_calibration(measured(best=0.81), path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TableError, match="cannot be written: No space left on device"):
        save_calibration(measured(best=0.82), path)
    assert read_table(path)[OTHER]["dram"]["best"] == 0.81
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("path", ["/dev/null/table.toml", "/proc/no-such-folder/table.toml"])
def test_a_folder_that_cannot_be_written_is_found_before_anything_is_measured(path: str) -> None:
    with pytest.raises(TableError, match="cannot be written") as raised:
        check_writable(Path(path))
    assert path in str(raised.value)
    assert "--output" in raised.value.hint


def test_every_unit_may_have_a_section_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "table.toml"
    save_calibration(measured(more=dict.fromkeys(UNITS, Attained(0.7, 0.8, 0.9, "kernel"))), path)
    assert read_table(path)[OTHER].keys() >= UNITS.keys()
