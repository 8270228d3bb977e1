"""Rules of installed packages: added to the shipped ones, or left out and named; other rules are not affected."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from ncuview.base.system import leave_out
from ncuview.engine.plan import metrics_for
from ncuview.engine.rule_file import load_rules, shipped_rules
from ncuview.engine.rule_packs import GROUP, has_packs
from ncuview.pipeline.profiled import planned_metrics
from tests.toy_package import RULE, add_rule, install

PATH = "from pathlib import Path\nRULES = Path(__file__).with_name('rules')\ndef rules():\n    return RULES\n"


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    leave_out.cache_clear()
    return tmp_path


def own(code: str) -> bool:
    return code in {rule.text.code for rule in load_rules()}


def test_without_packs_there_are_the_shipped_rules() -> None:
    assert not has_packs()
    assert load_rules() is shipped_rules()


@pytest.mark.parametrize("gives", ["rules", "RULES"])
def test_a_pack_names_its_folder_or_a_function_that_does(packages: Path, gives: str) -> None:
    code = add_rule(packages / "rules")
    install(packages, f"toy_{gives}", PATH, {GROUP: {"toy": f"toy_{gives}:{gives}"}})
    codes = [rule.text.code for rule in load_rules()]
    assert code in codes
    assert codes == sorted(codes)
    assert len(codes) == len(shipped_rules()) + 1


def test_what_packs_need_is_collected(packages: Path) -> None:
    add_rule(packages / "rules")
    install(packages, "toy_collects", PATH, {GROUP: {"toy": "toy_collects:rules"}})
    assert list(planned_metrics(None)) == metrics_for(load_rules())


BROKEN = {
    "no module": ("", "toy_broken_elsewhere:rules", "ModuleNotFoundError"),
    "no such name": ("", "{module}:rules", "AttributeError"),
    "fails when it is imported": ("raise OSError('disk')", "{module}:rules", "OSError: disk"),
    "leaves": ("import sys; sys.exit(3)", "{module}:rules", "SystemExit: 3"),
    "fails when it is called": ("def rules(): return 1 / 0", "{module}:rules", "ZeroDivisionError"),
    "gives no folder": ("rules = 3", "{module}:rules", "gives 3, which is not a folder"),
    "gives a folder that is not there": ("rules = '/nowhere'", "{module}:rules", "/nowhere is no folder"),
    "has a damaged rule": (
        "from pathlib import Path\nrules = Path(__file__).with_name('damaged')",
        "{module}:rules",
        "damaged",
    ),
    "takes a name of ours": (
        "from pathlib import Path\nrules = Path(__file__).with_name('taken')",
        "{module}:rules",
        "is taken by",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_pack_is_named_and_the_others_count(
    case: str, packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    content, names, said = BROKEN[case]
    module = f"toy_{case.replace(' ', '_')}"
    (packages / "damaged" / "topic").mkdir(parents=True)
    (packages / "damaged" / "topic" / "rule.toml").write_text("code = 3")
    (packages / "taken" / RULE.parent.name).mkdir(parents=True)
    (packages / "taken" / RULE.parent.name / RULE.name).write_bytes(RULE.read_bytes())
    install(packages, module, content, {GROUP: {"broken": names.format(module=module)}})
    good = add_rule(packages / "rules")
    install(packages, f"{module}_good", PATH, {GROUP: {"zgood": f"{module}_good:rules"}})
    with caplog.at_level(logging.WARNING, "ncuview"):
        assert own(good)
        assert len(load_rules()) == len(shipped_rules()) + 1
    (record,) = caplog.records
    message = record.getMessage()
    assert f"entry point 'broken' in ncuview.rules, of {module} 1.0, cannot be used" in message
    assert said in message
    assert f"uninstall {module} 1.0" in message


def test_of_two_packs_with_the_same_rule_the_first_by_name_counts(
    packages: Path, caplog: pytest.LogCaptureFixture
) -> None:
    add_rule(packages / "rules")
    install(packages, "toy_twice", PATH, {GROUP: {"a": "toy_twice:rules", "b": "toy_twice:RULES"}})
    assert len(load_rules()) == len(shipped_rules()) + 1
    assert "entry point 'b'" in caplog.text


def test_a_folder_that_the_user_names_comes_before_a_pack(packages: Path, caplog: pytest.LogCaptureFixture) -> None:
    code = add_rule(packages / "rules")
    install(packages, "toy_named", PATH, {GROUP: {"toy": "toy_named:rules"}})
    found = load_rules([packages / "rules"])
    assert [rule.text.code for rule in found].count(code) == 1
    assert "is taken by" in caplog.text
