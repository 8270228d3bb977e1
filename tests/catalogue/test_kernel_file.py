"""The front matter of kernel files: what it must hold, and that hostile front matter is refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ncuview.base.errors import KernelFileError
from ncuview.base.files import LARGEST_TOML
from ncuview.base.paths import shipped
from ncuview.catalogue.kernel_file import has_front_matter, load_kernels, read_front_matter

STRIDED = shipped("kernels") / "access_patterns" / "load_strided.cu"
STEP = '[step]\nafter = "j"\napplies = "unrolling"\n'
HEAD = 'name = "k"\n[launch]\ngrid = ["1"]\nblock = ["32"]\n'


def source(folder: Path, toml: str | bytes, name: str = "k.cu") -> Path:
    path = folder / name
    inner = toml.encode() if isinstance(toml, str) else toml
    path.write_bytes(b"/*--- ncuview\n" + inner + b"---*/\n__global__ void k() {}\n")
    return path


def test_a_head_is_read_whatever_the_rest_is(tmp_path: Path) -> None:
    path = source(tmp_path, HEAD)
    path.write_bytes(path.read_bytes() + b"\xff" * (2 * LARGEST_TOML))
    assert has_front_matter(path)
    text = read_front_matter(path)
    assert (text.name, text.launch.grid) == ("k", ["1"])


def test_line_breaks_of_windows_are_line_breaks(tmp_path: Path) -> None:
    path = source(tmp_path, HEAD)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert read_front_matter(path).name == "k"


def test_a_source_without_a_head(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("__global__ void k() {}\n")
    assert not has_front_matter(path)
    with pytest.raises(KernelFileError, match="no front matter"):
        read_front_matter(path)


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("a = " + "[" * 10_000 + "\n", "nested too deep"),
        ("a." * 40_000 + "a = 1\n", "more than 32 parts"),
        ("# " + "x" * LARGEST_TOML + "\n" + HEAD, "no front matter"),
        ("name = \n", "Invalid value"),
        (b"name = '\xff'\n", "launch"),
        (HEAD + "[sizes]\nn = " + "9" * 400 + "\n", "sizes.n"),
        (HEAD + "[sizes]\nn = 1.5\n", "sizes.n"),
        ("tolerance = nan\n" + HEAD, "tolerance"),
        ("more = 1\n" + HEAD, "more"),
    ],
)
def test_a_bad_head_is_refused_with_a_sentence(tmp_path: Path, toml: str | bytes, says: str) -> None:
    with pytest.raises(KernelFileError) as refused:
        read_front_matter(source(tmp_path, toml))
    assert says in str(refused.value)
    assert refused.value.exit_code == 2
    assert len(str(refused.value)) < 1000


def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.cu"
    os.mkfifo(pipe)
    for path, says in ((pipe, "no regular file"), (tmp_path / "missing.cu", "No such file")):
        with pytest.raises(KernelFileError, match=says):
            has_front_matter(path)


def test_a_kernel_of_the_catalogue_with_its_variants() -> None:
    own, *variants = load_kernels(STRIDED)
    assert own == load_kernels(STRIDED)[0]
    assert own.of_catalogue
    assert own.name == own.function == "load_strided"
    assert variants
    for variant in variants:
        assert variant.function == "load_strided"
        assert variant.name.startswith("load_strided[")
        assert variant.text.sizes.keys() == own.text.sizes.keys()


def test_a_variant_changes_only_sizes_that_there_are(tmp_path: Path) -> None:
    folder = tmp_path / "access_patterns"
    folder.mkdir()
    path = folder / "load_strided.cu"
    text = STRIDED.read_text()
    at = text.index("[[variant]]")
    changed = text[at:].replace("stride", "strode", 1)
    path.write_text(text[:at] + changed)
    with pytest.raises(KernelFileError, match="no size strode"):
        load_kernels(path)


def test_name_and_family_are_those_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "elsewhere" / "load_strided.cu"
    path.write_text(STRIDED.read_text())
    with pytest.raises(KernelFileError, match="name and family"):
        load_kernels(path)
