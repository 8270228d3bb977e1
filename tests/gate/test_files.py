"""Files of a gate: one that is too large or too deep is refused before it fills the memory."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, Field

from ncuview.base.errors import BaselineError, BudgetError, TableError
from ncuview.gate.baseline import read_baseline
from ncuview.gate.budget import read_budget
from ncuview.gate.files import MOST_BYTES, MOST_VALUES, read_json, read_text, write_json
from ncuview.gate.spread import read_spreads

HEAD = '{"schema": "ncuview.baseline/1", "conditions": {}, "kernels": ['


class Form(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    names: tuple[str, ...] = Field(min_length=1)
    more: dict[str, int] = Field(default_factory=dict)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.json"


def read(path: Path) -> Form | None:
    return read_json(path, Form, TableError, "Fix it.")


def test_what_was_written_is_read(path: Path) -> None:
    write_json(path, '{"names": ["a,b", "é"]}\r\n', TableError)
    assert read(path) == Form(names=("a,b", "é"))


def test_what_is_not_there_is_none(path: Path) -> None:
    assert read(path) is None
    assert read(Path("/dev/null/a.json")) is None


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "file: Invalid JSON"),
        ("[]", "file: it must be a table"),
        ('{"names": []}', "names: it has too few values"),
        ('{"names": ["a", 2]}', "names.1: it must be text in quotes"),
        ('{"names": ["a"], "more": {"b": "c"}}', "more.b: it must be an integer"),
        ('{"names": ["a"], "less": 1}', "less: unknown key"),
    ],
)
def test_what_is_wrong_is_named(path: Path, text: str, says: str) -> None:
    path.write_text(text, encoding="utf-8")
    with pytest.raises(TableError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: {says}")
    assert caught.value.hint == "Fix it."


def test_bytes_that_are_no_text_and_a_folder_are_refused(path: Path) -> None:
    path.write_bytes(b'{"names": ["\xff"]}')
    with pytest.raises(TableError, match=r"cannot be read.*utf-8"):
        read(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(TableError, match=r"cannot be read.*no regular file"):
        read(path)


@pytest.mark.parametrize("may_enter", [True, False])
def test_what_may_not_be_read_is_an_error_and_another_users_home_holds_nothing_of_ours(
    path: Path, may_enter: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    def access(folder: Path, mode: int) -> bool:
        assert (folder, mode) == (path.parent, os.X_OK)
        return may_enter

    monkeypatch.setattr(os, "open", denied)
    monkeypatch.setattr(os, "access", access)
    if may_enter:
        with pytest.raises(TableError, match=r"cannot be read.*denied"):
            read(path)
    else:
        assert read(path) is None


# Bombs


def test_a_file_may_have_64_mb_and_no_byte_more(path: Path) -> None:
    path.touch()
    os.truncate(path, MOST_BYTES)
    assert read_text(path, TableError, "") == "\0" * MOST_BYTES
    os.truncate(path, MOST_BYTES + 1)
    for wanted, act in ((BaselineError, read_baseline), (BudgetError, read_budget), (TableError, read_spreads)):
        with pytest.raises(wanted, match=r"larger than [\d,]+ bytes") as caught:
            act(path)
        assert caught.value.exit_code == 2


@pytest.mark.parametrize("act", [read_baseline, read_budget, read_spreads])
def test_pipes_and_devices_are_refused_at_once(path: Path, act: Callable[[Path], object]) -> None:
    os.mkfifo(path)
    for file in (path, Path("/dev/zero")):
        with pytest.raises((BaselineError, BudgetError, TableError), match="no regular file"):
            act(file)


@pytest.mark.parametrize("opening", ["[", '{"a":', '{"kernels":['])
@pytest.mark.parametrize("depth", [300, 1_000_000])
def test_a_deeply_nested_baseline_is_refused(path: Path, opening: str, depth: int) -> None:
    path.write_text(opening * depth, encoding="utf-8")
    with pytest.raises(BaselineError, match="recursion limit"):
        read_baseline(path)


@pytest.mark.parametrize("opening", ["[", "{a="])
def test_a_deeply_nested_budget_is_refused(path: Path, opening: str) -> None:
    path.write_text("a = " + opening * 100_000, encoding="utf-8")
    with pytest.raises(BudgetError, match=r"a\.json"):
        read_budget(path)


def test_so_many_values_are_refused_before_each_is_looked_at(path: Path) -> None:
    path.write_text('{"names": [' + '"a",' * (MOST_VALUES - 1) + '"a"]}', encoding="utf-8")
    found = read(path)
    assert found is not None
    assert len(found.names) == MOST_VALUES
    path.write_text('{"names": [' + '"a",' * MOST_VALUES + '"a"]}', encoding="utf-8")
    with pytest.raises(TableError, match="more than 1,000,000 values"):
        read(path)


def test_the_first_wrong_kernel_of_a_baseline_is_enough(path: Path) -> None:
    """Each has fourteen missing fields; messages about all of them would take gigabytes for a small file."""
    path.write_text(HEAD + ",".join(["{}"] * (MOST_VALUES - 10)) + "]}", encoding="utf-8")
    with pytest.raises(BaselineError, match=r"conditions\.gpus: it is missing") as caught:
        read_baseline(path)
    cause = caught.value.__cause__
    assert cause is not None
    assert cause.error_count() < 100  # type: ignore[attr-defined]


@pytest.mark.parametrize("text", ["," * MOST_VALUES, "x" * (MOST_BYTES + 1)], ids=["values", "bytes"])
def test_what_could_not_be_read_again_is_not_written(path: Path, text: str) -> None:
    path.write_text("old", encoding="utf-8")
    with pytest.raises(BaselineError, match="too large to be read again"):
        write_json(path, text, BaselineError)
    assert path.read_text(encoding="utf-8") == "old"


def test_it_is_written_where_a_link_points_and_folders_are_made(path: Path) -> None:
    link = path.with_name("link.json")
    link.symlink_to(path.parent / "new" / "there.json")
    write_json(link, "{}", TableError)
    assert link.is_symlink()
    assert (path.parent / "new" / "there.json").read_text(encoding="utf-8") == "{}"


def test_what_cannot_be_written_is_an_error(path: Path) -> None:
    path.mkdir()
    with pytest.raises(BaselineError, match="cannot be written") as caught:
        write_json(path, "{}", BaselineError)
    assert "another folder" in caught.value.hint


def test_a_device_is_not_replaced_by_a_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    with pytest.raises(BaselineError, match="is no regular file"):
        write_json(pipe, "{}", BaselineError)
    assert pipe.is_fifo()
