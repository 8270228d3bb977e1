"""``analyze FAMILY``, ``kernels FAMILY``, ``diff --with``, and patches from any folder of a repository."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from ncuview.base.paths import shipped
from ncuview.catalogue.kernels import families, family
from tests.command_line import RECORDED, assert_failed, ncuview
from tests.together import together

FAMILY = "divergence"
HOLDS = (
    'ncuview: transposeCoalesced: the patch "Pad tile by one word per row" holds if no index into tile exceeds the end'
    " of a row to reach the next\n"
)
SOURCE = shipped("kernels") / "transpose" / "transposeCoalesced.cu"


def test_a_family_is_diagnosed_and_its_ladder_is_named() -> None:
    page, document = ncuview("analyze", FAMILY, "--recorded"), ncuview("analyze", FAMILY, "--recorded", "--format=json")
    assert (page.code, page.err, document.code) == (0, "", 0)
    assert f"`ncuview ladder {FAMILY}`" in " ".join(page.out.split())
    launches = json.loads(document.out)["launches"]
    assert [launch["kernel"] for launch in launches] == [kernel.function for kernel in family(FAMILY)]


def test_a_family_is_no_kernel_where_one_kernel_is_needed() -> None:
    hint = f"`ncuview kernels {FAMILY}` lists its kernels"
    assert_failed(ncuview("analyze", FAMILY, "--no-counters"), 2, f"'{FAMILY}' is a family of kernels", hint)


@together("name", families(), name=str)
def test_the_kernels_of_a_family_are_listed_with_what_they_show(name: str) -> None:
    page = ncuview("kernels", name)
    assert (page.code, page.err) == (0, "")
    assert f"`ncuview ladder {name}`" in page.out
    together_again = "".join(page.out.split())
    assert all(each.text.teaches.split()[0] in page.out and each.name in together_again for each in family(name))
    assert max(map(len, page.out.splitlines())) <= 100
    listed = json.loads(ncuview("kernels", name, "--format", "json").out)["kernels"]
    assert [each["name"] for each in listed] == [each.function for each in family(name)]


@together("columns", [60, 80, 100, 140])
def test_all_kernels_are_listed_by_family_within_a_hundred_lines_or_so(columns: int) -> None:
    page = ncuview("kernels", COLUMNS=str(columns)).out
    lines = page.splitlines()
    assert all(any(line.startswith(f"{name}: ") for line in lines) for name in families())
    assert max(map(len, lines)) <= columns
    assert len(lines) < 200


def test_two_kernels_of_one_report_are_compared() -> None:
    pair = ("diff", RECORDED, "-k", "transposeNaive", "--with", "transposeCoalesced")
    page = ncuview(*pair)
    assert (page.code, page.err) == (0, "")
    assert "transposeNaive -> transposeCoalesced" in page.out
    assert "shared_memory_tiling: 7.60x predicted" in page.out
    assert "Not checked" not in page.out, "one report has one setting"
    document = json.loads(ncuview(*pair, "--format", "json").out)
    assert len(document["pairs"]) == 1


def test_each_format_of_comparisons_shows_two_kernels_of_one_report(tmp_path: Path) -> None:
    pair = ("diff", RECORDED, "-k", "transposeNaive", "--with", "transposeCoalesced")
    files = [tmp_path / f"a.{ending}" for ending in ("html", "md", "json", "txt")]
    ended = ncuview(*pair, *(f"--output={file}" for file in files))
    assert ended.code == 0
    assert all("transposeCoalesced" in file.read_text() for file in files)


@together(
    "words, code, answer",
    [
        ((), 2, "there is nothing to compare with"),
        (("--with", "copy"), 2, "--with needs the kernel before"),
        (("-k", "nosuch", "--with", "copy"), 3, "no launch of a kernel 'nosuch'"),
        (("-k", "copy", "--with", "nosuch"), 3, "no launch of a kernel 'nosuch'"),
        (("-k", "regex:^transpose", "--with", "copy"), 2, "regex:^transpose matches 11 kernels"),
        (("-k", "copy", "--with", "regex:tiled"), 2, "regex:tiled matches 3 kernels"),
        (("-k", "copy", "--with", "copy"), 2, "both names are the kernel copy"),
        (("-k", "copy", "--with", "copyRow", "--renamed", "a=b"), 2, "--with and --renamed"),
    ],
)
def test_a_pair_that_cannot_be_compared_is_refused(words: tuple[str, ...], code: int, answer: str) -> None:
    assert_failed(ncuview("diff", RECORDED, *words), code, answer)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the source of a kernel, and no commit."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    for folder in ("src/gpu", "docs"):
        (tmp_path / folder).mkdir(parents=True)
    shutil.copy(SOURCE, tmp_path / "src" / "gpu")
    return tmp_path


@pytest.mark.parametrize("folder", [".", "src", "src/gpu"])
def test_a_patch_applies_from_the_root_and_from_the_folders_of_the_file(folder: str, repository: Path) -> None:
    patch = patch_of(repository, folder)
    assert "+++ b/src/gpu/transposeCoalesced.cu\n" in patch
    git = ["git", "apply", "-"]
    subprocess.run(git, cwd=repository / folder, input=patch, text=True, check=True)
    assert "TILE_DIM + 1" in (repository / "src" / "gpu" / SOURCE.name).read_text()


def test_a_folder_from_which_git_skips_the_file_is_reported(repository: Path) -> None:
    ended = ncuview(*command(repository), cwd=repository / "docs")
    assert ended.code == 0
    skipped = f"ncuview: git apply skips files that are not below this folder\n  Run it in {repository}.\n"
    assert ended.err == skipped + HOLDS


@pytest.mark.checkout
def test_advice_without_a_patch_and_no_advice_have_codes_of_their_own() -> None:
    without = ncuview("analyze", "transposeNaive", "--recorded", "--diff")
    assert_failed(without, 3, "transposeNaive: shared_memory_tiling takes decisions that no program can make")
    finished = ncuview("analyze", "transposeNoBankConflicts", "--recorded", "--diff")
    assert (finished.code, finished.out) == (0, "")
    assert finished.err == "ncuview: there is nothing to change: near its peak\n"


def command(repository: Path) -> tuple[str, ...]:
    return ("analyze", str(RECORDED), "-k", "transposeCoalesced", "--source-folders", str(repository / "src"), "--diff")


def patch_of(repository: Path, folder: str) -> str:
    ended = ncuview(*command(repository), cwd=repository / folder)
    assert (ended.code, ended.err) == (0, HOLDS)
    return ended.out
