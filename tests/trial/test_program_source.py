"""Where programs are copied from, and which of their files define kernels."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ncuview.base.errors import UsageError
from ncuview.trial.program_source import definitions_in, placed


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("here/app.py", "here/sub/app.py", "here/sub/in.bin", "here/data.bin", "beside/x.bin"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def test_a_python_program_is_copied_with_the_folder_of_its_script(here: Path) -> None:
    words = ("sub/app.py", "--n", "3", "data.bin", "sub/in.bin", "../beside/x.bin", "lost.bin")
    outside = [str(here / "data.bin"), "in.bin", str(here.parent / "beside/x.bin"), "lost.bin"]
    expected = ["app.py", "--n", "3", *outside]
    assert placed(words, None) == ([sys.executable, *expected], here / "sub")
    assert placed(("python3", *words), None) == (["python3", *expected], here / "sub")
    assert placed((str(here / "sub/app.py"), sys.executable), None) == (
        [sys.executable, "app.py", sys.executable],
        here / "sub",
    )
    assert placed(("python3", "-O", "app.py"), None) == (["python3", "-O", "app.py"], here)


def test_a_tree_is_named(here: Path) -> None:
    assert placed(("sub/app.py",), Path()) == ([sys.executable, "sub/app.py"], here)
    assert placed(("./app", "app.py"), None) == (["./app", "app.py"], here)
    assert placed(("./app",), Path("sub")) == (["./app"], here / "sub")
    assert placed(("python3", "-m", "app"), None) == (["python3", "-m", "app"], here)
    with pytest.raises(UsageError, match="is not below"):
        placed(("app.py",), Path("sub"))
    with pytest.raises(UsageError, match="no folder lost"):
        placed(("app.py",), Path("lost"))
    with pytest.raises(UsageError, match=r"no Python file lost\.py"):
        placed(("lost.py",), None)


def test_an_interpreter_of_an_environment_stays_where_it_is(here: Path) -> None:
    python = here / ".venv/bin/python3"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    assert placed((".venv/bin/python3", "app.py"), None) == ([str(python), "app.py"], here)


def test_kernels_of_cuda_files_of_strings_and_of_triton_are_found(tmp_path: Path) -> None:
    kernel = "__global__ void {}(int *a) {{ a[0] = 1; }}\n"
    (tmp_path / "k.cu").write_text(kernel.format("one") + kernel.format("two"))
    (tmp_path / "app.py").write_text(f"s = r'''{kernel.format('two')}{kernel.format('three')}'''\n")
    (tmp_path / "t.py").write_text("import triton\n@triton.jit\ndef four(x): pass\n")
    found = definitions_in(tmp_path)
    assert dict(found) == {
        "one": [Path("k.cu")],
        "two": [Path("app.py"), Path("k.cu")],
        "three": [Path("app.py")],
        "four": [Path("t.py")],
    }
