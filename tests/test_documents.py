"""Markdown pages: links and names lead somewhere, commands exist, sizes are bounded, the README shows real output."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.documents import (
    ROOT,
    Command,
    anchors,
    check_words,
    commands,
    handwritten,
    inline_code,
    inline_commands,
    links,
    pages,
    run,
    tokens,
)
from tests.together import together

pytestmark = pytest.mark.checkout

NAMING = sorted(
    path
    for folder in ("ncuview", "rules", "kernels", "examples", "tests", "benchmarks", "fuzz", "tools", "validation")
    for path in (ROOT / folder).rglob("*.*")
    if path.suffix in {".py", ".toml", ".yml", ".cu"}
)
VALIDATION = sorted((ROOT / "validation").glob("*.md"))
CITING = dict.fromkeys((*handwritten(), *(ROOT / name / "README.md" for name in ("benchmarks", "fuzz")), *VALIDATION))
"""Pages whose paths must exist."""
PATH = re.compile(r"(?:\.ci|\w[\w.-]*)/[\w./<>*-]*")
PLACEHOLDER = re.compile(r"<\w+>|(?<=/)[A-Z]+(?=/)")
PAGE = re.compile(r"(?<![\w/.-])(?:docs|validation)/[\w/.-]+\.md")
KILOBYTES = 160
WORDS = {"README.md": 800, "ARCHITECTURE.md": 1600}


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@together("page", pages(), name=name_of)
def test_every_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    for link in links(page):
        path, _, anchor = unquote(link).partition("#")
        if "://" in path or path.startswith("mailto:"):
            continue
        target = (page.parent / path).resolve() if path else page
        assert target.is_relative_to(ROOT), link
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def unknown_paths(page: Path) -> list[str]:
    """The paths in backticks that do not exist, and begin in the project, the package or the page's folder."""
    folders = (ROOT, ROOT / "ncuview", page.parent)
    found = []
    for path in (word for text in inline_code(page) for word in text.split() if PATH.fullmatch(word)):
        pattern = PLACEHOLDER.sub("*", path).rstrip("/")
        if any((folder / pattern.partition("/")[0]).is_dir() for folder in folders):
            found += [] if any(any(folder.glob(pattern)) for folder in folders) else [path]
    return found


@together("page", CITING, name=name_of)
def test_every_path_in_backticks_exists(page: Path) -> None:
    assert unknown_paths(page) == []


def test_a_path_that_does_not_exist_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "`tests/gone.py`, `reader/gone.toml`, `ncu runs/a`, `rules/<category>/<CODE>-<name>.toml`, `a/b`", "utf-8"
    )
    assert unknown_paths(page) == ["tests/gone.py", "reader/gone.toml"]


@together("path", NAMING, name=name_of)
def test_every_page_that_code_and_rules_name_exists(path: Path) -> None:
    named = set(PAGE.findall(path.read_text(encoding="utf-8")))
    assert not [name for name in named if not (ROOT / name).exists()]


def test_the_index_names_every_page_of_docs() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in links(index)}
    assert linked >= {page for page in pages() if page.parent.parent == index.parent}


@together("page", handwritten(), name=name_of)
def test_every_command_exists(page: Path) -> None:
    for each in commands(page):
        if isinstance(each, Command):
            check_words(each.text)
    for text in inline_commands(page):
        try:
            check_words(text)
        except Exception as error:
            if type(error).__name__ != "MissingParameter":  # a sentence may name a command without its arguments
                raise


@together("page", handwritten(), name=name_of)
def test_every_block_names_its_language(page: Path) -> None:
    assert all(token.info for token in tokens(page) if token.type == "fence")


@pytest.mark.parametrize("words", ["ncuview analize x", "ncuview analyze --no-such-option x", "ncuveiw analyze x"])
def test_a_command_that_does_not_exist_is_found(words: str) -> None:
    with pytest.raises(Exception, match=r"(?i)no such|unknown program"):
        check_words(words)


def test_pages_keep_their_sizes() -> None:
    assert sum(len(page.read_bytes()) for page in handwritten()) <= KILOBYTES * 1000
    for name, most in WORDS.items():
        assert len((ROOT / name).read_text(encoding="utf-8").split()) <= most, name


def test_the_readme_shows_what_is_printed(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    run(ROOT / "README.md", tmp_path, update=request.config.getoption("--update-golden"))
