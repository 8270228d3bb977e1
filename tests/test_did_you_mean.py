"""Wherever a user can type an unknown name, the answer gives the known ones that it may stand for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import RECORDED, assert_failed, ncuview
from tests.together import together

CASES = (
    ("analyse", "Did you mean 'analyze'?"),
    ("rules chek", "Did you mean 'check'?"),
    ("analyze transposeCoalesed", "Did you mean transposeCoalesced or "),
    ("analyze transpos", "Did you mean transpose or "),
    ("ladder transpos", "Did you mean transpose or "),
    ("kernels transpos", "Did you mean transpose or "),
    ("calibrate --repeat 3 transposNaive", "Did you mean transposeNaive or "),
    ("analyze mine.cuu", "Did you mean mine.cu"),
    ("analyze min.py", "Did you mean mine.py"),
    ("analyze REPORT -k transposeNaiv", "Did you mean transposeNaive or "),
    ("analyze REPORT --source-folders kernls", "Did you mean kernels?"),
    ("analyze REPORT --rules ruls", "Did you mean rules?"),
    ("analyze REPORT --select SMEN001", "Did you mean SMEM001 or "),
    ("analyze REPORT --ignore shared-bank-conflits", "Did you mean shared-bank-conflict?"),
    ("analyze REPORT --fromat json", "Did you mean --format?"),
    ("analyze REPORT --replay-mod kernel", "Did you mean --replay-mode or "),
    ("analyze REPORT --format jsn", "Did you mean json?"),
    ("analyze REPORT -o x.htm", "Did you mean .html?"),
    ("analyze REPORT -o htlm:x", "Did you mean html?"),
    ("analyze REPORT --look quik", "Did you mean quick?"),
    ("check REPORT --budget budgt.toml", "Did you mean budget.toml?"),
    ("check REPORT --budget mine.toml --fail-on eror", "Did you mean error?"),
    ("check REPORT --baseline befor.json", "Did you mean before.json?"),
    ("diff REPORT befor.ncu-rep", "Did you mean before.ncu-repz"),
    ("diff REPORT -k transposeNaiv --with copy", "Did you mean transposeNaive or "),
    ("diff REPORT -k copy --with transposeNaiv", "Did you mean transposeNaive or "),
    ("report kernls", "Did you mean kernels?"),
    ("report kernels --format jsn", "Did you mean json?"),
    ("explain bankconflict", "Did you mean shared-bank-conflict?"),
    ("metrics gld_eficiency", "Did you mean gld_efficiency or "),
    ("metrics wait_for_loads", "Did you mean waits_for_loads or "),
    ("rules --format jason", "Did you mean json?"),
    ("rules check ruls", "Did you mean rules?"),
    ("scrub befor.ncu-rep out.ncu-repz", "Did you mean before.ncu-repz"),
    ("analyze REPORT --save-baseline b.json", "--save-baseline is an option of `ncuview check`."),
    ("diff REPORT REPORT --no-cache", "--no-cache is an option of `ncuview analyze`."),
    ("analyze REPORT --top zero", "'zero' is no whole number"),
    ("analyze kernls/mine.ncu-rep", "Did you mean kernels?"),
    ("--log-level inf rules", "Did you mean info?"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files whose names are misspelt."""
    for name in ("mine.cu", "mine.py", "budget.toml", "before.json", "before.ncu-repz"):
        (tmp_path / name).touch()
    for name in ("kernels", "rules"):
        (tmp_path / name).mkdir()
    return tmp_path


@together("line, answer", CASES, name=lambda case: case[0])
def test_an_unknown_name_is_answered_with_the_nearest(line: str, answer: str, folder: Path) -> None:
    ended = ncuview(*(str(RECORDED) if word == "REPORT" else word for word in line.split()), cwd=folder)
    assert answer in " ".join(f"{ended.err} {ended.out}".split())
    assert ended.code in {2, 3, 4}
    assert "Value error" not in ended.err


def test_a_report_without_a_command_is_answered_with_the_command() -> None:
    for word in ("mine.ncu-rep", "transposeNaive", "transpose"):
        assert_failed(ncuview(word), 2, f"`ncuview analyze {word}` diagnoses it.")
    assert "diagnoses" not in ncuview("help").err
