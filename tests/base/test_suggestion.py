"""Unknown names are answered with the known names that they may stand for."""

from __future__ import annotations

from pathlib import Path

from ncuview.base.suggestion import did_you_mean, did_you_mean_file, suggestion


def test_the_nearest_names_come_first_in_any_case() -> None:
    known = ["SMEM001", "SMEM002", "GMEM001"]
    assert did_you_mean("smem01", known, "All: 3.").startswith("Did you mean SMEM001 or ")
    assert did_you_mean("smem01", known, "All: 3.").endswith("? All: 3.")


def test_without_a_near_name_the_rest_stands_alone() -> None:
    assert did_you_mean("x", ["matmul"], "There are: matmul.") == "There are: matmul."
    assert did_you_mean("x", []) == ""


def test_the_end_of_a_message_lists_few_names_and_not_many() -> None:
    assert suggestion("matmull", ["matmul"]) == "; did you mean matmul?"
    assert suggestion("x", ["b", "a"]) == "; known here: a, b"
    assert suggestion("x", map(str, range(21))) == ""


def test_a_missing_file_is_compared_with_those_beside_it(tmp_path: Path) -> None:
    (tmp_path / "app.ncu-repz").touch()
    assert did_you_mean_file(tmp_path / "app.ncu-rep", "") == f"Did you mean {tmp_path / 'app.ncu-repz'}?"
    assert did_you_mean_file(tmp_path / "missing" / "app", "Check it.") == "Check it."
    for name in ("reduction", "redaction"):
        (tmp_path / "kernels" / name).mkdir(parents=True)
    found = tmp_path / "kernels" / "reduction" / "sum.cu"
    found.touch()
    for wrong in ("kernels/reducton/sum.cu", "kernls/reducton/sum.cu", "kernels/reducton/sun.cu"):
        assert did_you_mean_file(tmp_path / wrong, "") == f"Did you mean {found}?"
    assert did_you_mean_file(Path("\0"), "Check it.") == "Check it."
