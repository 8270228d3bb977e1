"""Copies of a source tree, and commands that run in them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ncuview.base.errors import UsageError
from ncuview.trial import scratch
from ncuview.trial.scratch import copy_of, run_in, state_of, written_in


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    made = tmp_path / "tree"
    for name in ("src/k.cu", ".git/HEAD", "build/CMakeCache.txt", "build/k.o", ".venv/pyvenv.cfg", "data/in.txt"):
        (made / name).parent.mkdir(parents=True, exist_ok=True)
        (made / name).write_text(name)
    (made / "inside").symlink_to(made / "data")
    (made / "beside").symlink_to("data/in.txt")
    (made / "outside").symlink_to("/etc")
    return made


def test_a_copy_has_the_sources_and_no_history_or_build(tree: Path, tmp_path: Path) -> None:
    copy_of(tree, tmp_path / "copy")
    found = {str(path.relative_to(tmp_path / "copy")) for path in (tmp_path / "copy").rglob("*")}
    assert found == {"src", "src/k.cu", "data", "data/in.txt", "inside", "beside", "outside"}


def test_what_is_written_through_a_link_stays_in_the_copy(tree: Path, tmp_path: Path) -> None:
    before = state_of(tree)
    copy_of(tree, tmp_path / "copy")
    for name in ("inside/in.txt", "beside"):
        (tmp_path / "copy" / name).write_text("changed by a run")
    assert state_of(tree) == before
    assert (tree / "data/in.txt").read_text() == "data/in.txt"
    assert (tmp_path / "copy" / "outside").resolve() == Path("/etc")


def test_a_tree_that_is_too_large_is_refused(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "LARGEST_TREE", 10)
    with pytest.raises(UsageError, match="each version is a copy of it"):
        copy_of(tree, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


def test_a_changed_file_changes_the_state(tree: Path) -> None:
    before = state_of(tree)
    (tree / "src/k.cu").write_text("longer than before")
    (tree / "new.txt").write_text("new")
    assert state_of(tree) != before
    assert set(written_in(tree, before)) == {Path("src/k.cu"), Path("new.txt")}


def test_a_command_of_the_folder_comes_before_those_of_the_path(tmp_path: Path) -> None:
    (tmp_path / "app").write_text(f"#!{sys.executable}\nimport os; print(os.getcwd(), os.environ['MORE'])\n")
    (tmp_path / "app").chmod(0o755)
    for name in ("app", "./app"):
        ran = run_in(tmp_path, [name], 20, {"MORE": "yes"})
        assert (ran.returncode, ran.failure) == (0, "")
        assert ran.output.decode() == f"{os.path.realpath(tmp_path)} yes\n"


def test_a_command_that_fails_or_hangs_says_why(tmp_path: Path) -> None:
    failed = run_in(tmp_path, ["sh", "-c", "echo no such file >&2; exit 3"], 20)
    assert failed.failure == "it ended with 3: no such file"
    late = run_in(tmp_path, ["sh", "-c", "exec sleep 60"], 0.5)
    assert late.failure == "it took too long"
    assert late.seconds < 30


def test_the_digest_is_of_all_output_and_only_its_end_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch, "_KEPT_OUTPUT", 4)
    one, other = (run_in(tmp_path, ["printf", text], 20) for text in ("abcdefgh", "Abcdefgh"))
    assert one.output == other.output == b"efgh"
    assert one.digest != other.digest


def test_extensions_of_pytorch_are_built_beside_the_copy(tmp_path: Path) -> None:
    printed = [sys.executable, "-c", "import os; print(os.environ['TORCH_EXTENSIONS_DIR'])"]
    for name in ("0", "1"):
        (tmp_path / name).mkdir()
        assert run_in(tmp_path / name, printed, 20.0).output.decode().strip() == str(tmp_path / f"{name}.torch")
