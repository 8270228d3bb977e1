"""Budget files: valid contents, and the errors of invalid ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncuview.base.errors import BudgetError
from ncuview.gate import budget as budget_file
from ncuview.gate.budget import Entry, check_rules_exist, read_budget
from tests.gate.made import launch

GOOD = """
[[budget]]
kernel = "transpose*"
metric = "gst_transactions_per_request"
max = 4

[[budget]]
kernel = "*"
finding = "SMEM001"
level = "warn"

[[budget]]
kernel = "*"
predicted = true
max = 1.2

[baseline]
tolerance = 0.1
"""


def write(folder: Path, text: str, name: str = "budgets.toml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_a_budget_is_read(tmp_path: Path) -> None:
    budget = read_budget(write(tmp_path, GOOD))
    assert [entry.level for entry in budget.entries] == ["error", "warn", "error"]
    assert (budget.entries[0].max, budget.baseline.tolerance) == (4.0, 0.1)


@pytest.mark.parametrize(
    "text",
    [
        '[tool.other]\nx = 1\n[[tool.ncuview.budget]]\nkernel = "*"\nfinding = "SMEM001"\n',
        '[[tool.ncuview.budget.budget]]\nkernel = "*"\nfinding = "SMEM001"\n[tool.ncuview.budget.baseline]\n',
    ],
    ids=["entries alone", "the whole file as a table"],
)
def test_a_pyproject_holds_one(tmp_path: Path, text: str) -> None:
    assert read_budget(write(tmp_path, text, "pyproject.toml")).entries[0].finding == "SMEM001"


def entry(text: str) -> str:
    return f'[[budget]]\nkernel = "a"\nfinding = "SMEM001"\n[[budget]]\n{text}\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[budget]", "budgets.toml:"),
        ("", "holds no budget"),
        ("x = 1", "x: unknown key"),
        (entry('kernel = "*"\nmetric = "ipc"\nmaximum = 3'), "budget 2: maximum: unknown key"),
        (entry('metric = "ipc"\nmax = 3'), "budget 2: kernel: Field required"),
        (entry('kernel = "*"\nmetric = "gst_transaction"\nmax = 3'), "budget 2: metric: no metric is called"),
        (entry('kernel = "*"\nmetric = "gst_transactions"'), "budget 2: a metric takes max, min or equal"),
        (entry('kernel = "*"\nmetric = "gst_transactions"\nmax = "4"'), "budget 2: max: "),
        (entry('kernel = "*"\nmetric = "gst_transactions"\nmax = true'), "budget 2: max: "),
        (entry('kernel = "*"\nmetric = "gst_transactions"\nmax = nan'), "budget 2: max: "),
        (entry(f'kernel = "*"\nmetric = "gst_transactions"\nmax = {"9" * 400}'), "budget 2: max: "),
        (entry('kernel = "*"\nmetric = "gst_transactions"\nmin = 5\nmax = 4'), "budget 2: min is above max"),
        (
            entry('kernel = "*"\nmetric = "gst_transactions"\nequal = 5\nmax = 4'),
            "equal cannot be combined with max and min",
        ),
        (entry('kernel = "*"\nmetric = "ipc"\nequal = 5'), "differs in every run"),
        (entry('kernel = "*"\nmetric = "dram_write_bytes"\nmax = 5'), "budget 2: metric: dram_write_bytes differs by"),
        (entry('kernel = "*"\nmetric = "ipc"\nfinding = "SMEM001"\nmax = 1'), "exactly one of"),
        (entry('kernel = "*"\nfinding = "SMEM001"\nmax = 1'), "a finding takes no max"),
        (entry('kernel = "*"\npredicted = true'), "predicted takes max"),
        (entry('kernel = "*"\npredicted = 1.2\nmax = 2'), "budget 2: predicted: "),
        (entry('kernel = "*"\nfinding = "SMEM001"\nlevel = "fatal"'), "budget 2: level: "),
        (entry('kernel = "*"\nfinding = "SMEM001"\ngrid = [0]'), "budget 2: grid.0: "),
        ("[baseline]\ntolerance = 2.0", "baseline.tolerance: "),
        ("budget = 3", "budget: "),
    ],
)
def test_a_wrong_budget_is_named_with_file_entry_and_key(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(BudgetError) as caught:
        read_budget(write(tmp_path, text))
    assert str(tmp_path / "budgets.toml") in str(caught.value)
    assert says in str(caught.value)
    assert caught.value.exit_code == 2
    assert caught.value.hint


def test_all_errors_of_a_file_are_named_with_their_lines(tmp_path: Path) -> None:
    text = '# two\n[[budget]]\nkernel = "a"\nmetric = "gst_transactions"\nmax = "4"\n\n[[budget]]\nkernle = "a"\n'
    path = write(tmp_path, text + "[baseline]\ntolerance = 2\n")
    with pytest.raises(BudgetError) as caught:
        read_budget(path)
    first, *errors = str(caught.value).split("\n  ")
    assert first == f"{path} has 4 errors:"
    assert [error.removeprefix(f"{path}:").partition(": ")[0] for error in errors] == [
        "5, budget 1",
        "7, budget 2",
        "8, budget 2",
        "10, baseline.tolerance",
    ]


def test_the_hint_names_the_keys_of_an_entry() -> None:
    assert all(key in budget_file._HINT for key in (*Entry.model_fields, *budget_file.BaselineLimits.model_fields))


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("b.toml", '\n [[ budget ]]\nkernel = "*"\nfinding = "SMEM001"\n', 2),
        ("b.toml", 'budget = [{kernel = "*", finding = "SMEM001"}]\n', 0),
        ("pyproject.toml", '[[budget]]\n[[tool.ncuview.budget]]\nkernel = "*"\nfinding = "SMEM001"\n', 2),
    ],
)
def test_an_entry_knows_its_line_where_the_file_has_one_for_each(
    tmp_path: Path, name: str, text: str, line: int
) -> None:
    found = read_budget(write(tmp_path, text, name))
    assert [(one.file, one.line) for one in found.line(1)] == ([(str(tmp_path / name), line)] if line else [])
    assert found.origin(1) == f"{tmp_path / name}{f':{line}' if line else ''}, budget 1"


def test_a_file_that_is_not_there_is_no_empty_budget(tmp_path: Path) -> None:
    with pytest.raises(BudgetError, match="there is no budget file"):
        read_budget(tmp_path / "none.toml")
    with pytest.raises(BudgetError, match="has no"):
        read_budget(write(tmp_path, "[tool.other]\nx = 1\n", "pyproject.toml"))


def test_a_finding_of_a_rule_that_is_not_there_is_refused(tmp_path: Path) -> None:
    budget = read_budget(write(tmp_path, GOOD))
    check_rules_exist(budget, [("SMEM001", "shared-bank-conflict")])
    with pytest.raises(BudgetError, match="budget 2: finding: no rule 'SMEM001'"):
        check_rules_exist(budget, [("GMEM001", "uncoalesced")])


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [("copy", True), ("co*", True), ("copy(float *, int)", True), ("copy(*", True), ("cop", False), ("COPY", False)],
)
def test_patterns_are_of_either_name(tmp_path: Path, pattern: str, fits: bool) -> None:
    text = f'[[budget]]\nkernel = "{pattern}"\nfinding = "SMEM001"\n'
    assert read_budget(write(tmp_path, text)).entries[0].is_about(launch()) is fits


def test_grid_and_block_narrow_it_down(tmp_path: Path) -> None:
    text = '[[budget]]\nkernel = "*"\nfinding = "SMEM001"\ngrid = [8]\nblock = [32, 1]\n'
    entry_ = read_budget(write(tmp_path, text)).entries[0]
    assert entry_.is_about(launch())
    assert not entry_.is_about(launch(grid=(8, 2, 1)))


def test_a_metric_that_ncu_cannot_count_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "b.toml"
    path.write_text('[[budget]]\nkernel = "*"\nmetric = "nvlink_data_receive_efficiency"\nmax = 1\n', encoding="utf-8")
    with pytest.raises(BudgetError, match="has no equivalent of nvlink_data_receive_efficiency"):
        read_budget(path)


def test_an_entry_of_a_program_may_say_that_it_has_no_metric() -> None:
    assert Entry(kernel="*", metric=None, predicted=True, max=1).metric is None


def test_the_key_of_0_1_for_what_is_predicted_is_accepted_and_noted(tmp_path: Path) -> None:
    old = write(tmp_path, GOOD.replace("predicted = true", "promised = true"))
    new = write(tmp_path, GOOD, "new.toml")
    assert read_budget(old).entries == read_budget(new).entries
    assert read_budget(old).notes == (
        f"{old}:12, budget 3: promised is called predicted now; the old key still works in 0.2",
    )
    assert read_budget(new).notes == ()


def test_both_keys_at_once_are_refused(tmp_path: Path) -> None:
    both = write(tmp_path, GOOD.replace("predicted = true", "predicted = true\npromised = true"))
    with pytest.raises(BudgetError, match="budget 3: promised: unknown key"):
        read_budget(both)
