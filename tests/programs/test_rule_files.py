"""Rule files of programs: each parses, has its detector, and gives the change in terms of frameworks."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from ncuview.base.errors import RuleFileError
from ncuview.base.paths import shipped
from ncuview.engine.rule_file import load_rules
from ncuview.programs.advise import DETECTORS
from ncuview.programs.rule_file import ProgramRule, program_rule, program_rules
from ncuview.records.program import Change

FILES = sorted((shipped("rules") / "program").iterdir())
each_rule = pytest.mark.parametrize("rule", program_rules(), ids=lambda rule: rule.code)


def test_each_rule_has_its_detector_and_each_detector_its_rule() -> None:
    assert [rule.code for rule in program_rules()] == list(DETECTORS)
    assert len(FILES) == len(DETECTORS)


def test_codes_and_names_stand_once_among_all_rules() -> None:
    names = [rule.name for rule in program_rules()] + [rule.text.name for rule in load_rules()]
    assert len(names) == len(set(names))
    assert not {rule.code for rule in program_rules()} & {rule.text.code for rule in load_rules()}


def test_every_change_has_a_rule() -> None:
    assert {rule.change for rule in program_rules()} == {*get_args(Change)}


@each_rule
def test_a_message_fills_in(rule: ProgramRule) -> None:
    assert "{" not in rule.message.format(launches="3", share="20%", saved="1.00 ms")


@each_rule
def test_links_are_official_documentation(rule: ProgramRule) -> None:
    homes = {
        "pytorch": ("https://docs.pytorch.org/", "https://huggingface.co/docs/"),
        "jax": ("https://docs.jax.dev/",),
        "cupy": ("https://docs.cupy.dev/",),
        "triton": ("https://triton-lang.org/",),
        "numba": ("https://numba.readthedocs.io/", "https://docs.cupy.dev/"),
        "cuda": ("https://docs.nvidia.com/cuda/", "https://nvidia.github.io/cccl/"),
    }
    for framework, terms in rule.frameworks.items():
        assert terms.link.startswith(homes[framework])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('change = "fuse"', 'change = "fusion"'),
        ("schema = 1", "schema = 2"),
        ('summary = "', 'summery = "'),
        ('link = "https://', 'link = "http://'),
        ("[frameworks.cupy]", "[frameworks.tensorflow]"),
        ('code = "PROG001"', 'code = "PROG002"'),
        ("not_where = [", "not_where = []\nother = ["),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, old: str, new: str) -> None:
    text = FILES[0].read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / FILES[0].name
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(RuleFileError):
        program_rule(path)
