"""What a check says of rules that are not shipped: the rule of docs/how-to/write-a-rule.md, and mistakes in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path

import pytest

from ncuview.base.errors import RuleFileError
from ncuview.engine.rule_file import rules_below
from ncuview.metrics.names import OF_INSTRUCTIONS, in_words
from ncuview.metrics.quantities import QUANTITIES, instructions
from ncuview.metrics.registry import REGISTERED, check_inputs
from ncuview.pipeline.rule_checks import RuleCheck, check_rules
from ncuview.sass.instruction import Instruction

PAGE = (Path(__file__).parents[2] / "docs" / "how-to" / "write-a-rule.md").read_text(encoding="utf-8")
RULE = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)[0]
NO_UNIT = RULE.replace('share = "share"\n', "")
VARIANTS = {
    "INST901": RULE,
    "INST902": RULE.replace('expect = "finding"', 'expect = "finding"\npredicted = 3.0'),
    "INST903": RULE.replace('"CUDA C++ Best Practices Guide"', '"CUDA Best Practice Guide"'),
    "INST904": RULE.replace('"CUDA C++ Best Practices Guide"', '"My Guide"'),
    "INST905": NO_UNIT,
    "INST906": RULE.replace('share = "share"\n', 'shar = "share"\n'),
    "INST900": RULE,
}


@pytest.fixture(scope="module", autouse=True)
def _quantities() -> Iterator[None]:
    """Register the quantities of the page, as its reader does."""
    known, source = dict(REGISTERED), re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    for block in (source[0], source[2]):
        exec(compile(block, "write-a-rule.md", "exec"), vars(instructions).copy())
    yield
    REGISTERED.clear()
    REGISTERED.update(known)


def written(folder: Path, code: str, text: str) -> Path:
    path = folder / "instructions" / f"{code}-{code.lower()}.toml"
    path.parent.mkdir(exist_ok=True)
    own = text.replace('"INST901"', f'"{code}"').replace('"wide-index"', f'"{code.lower()}"')
    path.write_text(own, encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def checks(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, RuleCheck]:
    folder = tmp_path_factory.mktemp("my-rules")
    for code, text in VARIANTS.items():
        written(folder, code, text)
    (folder / "documents.toml").write_text('["My Guide"]\nauthors = "me"\nkind = "article"\n', encoding="utf-8")
    return {check.rule.text.code: check for check in check_rules(rules_below([folder]))}


def test_the_rule_of_the_page_leaves_out_only_what_a_draft_may_leave_out(checks: Mapping[str, RuleCheck]) -> None:
    check_inputs(QUANTITIES)
    assert {"wide_multiplies", "wide_multiply_share"} <= QUANTITIES.keys()
    check = checks["INST901"]
    assert (check.wrong, check.notes) == ((), ())
    predicted, pair = check.to_ship
    assert re.fullmatch(r"example transposeNaive: add predicted = \d\S*", predicted)
    assert "names no kernel before and after it: two kernels of the catalogue" in pair
    assert "measured speedup between them lies within the predicted bounds" in pair


def test_a_prediction_that_is_stated_and_another_is_wrong(checks: Mapping[str, RuleCheck]) -> None:
    assert [each for each in checks["INST902"].wrong if "not 3" in each]


def test_a_prediction_is_compared_in_three_digits(checks: Mapping[str, RuleCheck], tmp_path: Path) -> None:
    stated = float(checks["INST901"].to_ship[0].rpartition(" ")[2])
    for code, predicted in (("INST906", stated), ("INST907", stated + 0.01)):
        example = f'expect = "finding"\npredicted = {predicted:.3g}'
        written(tmp_path, code, RULE.replace('expect = "finding"', example))
    right, wrong = check_rules(rules_below([tmp_path]))
    assert not right.wrong
    assert wrong.wrong == (f"example transposeNaive predicts {stated:g}, not {stated + 0.01:.3g}",)


def test_a_document_that_no_list_has_is_named_with_the_ones_that_come_closest(
    checks: Mapping[str, RuleCheck],
) -> None:
    said = [each for each in checks["INST903"].to_ship if each.startswith("cite: ")]
    assert len(said) == 1
    assert "'CUDA Best Practice Guide' is no document of" in said[0]
    assert "did you mean CUDA C++ Best Practices Guide" in said[0]


def test_rules_may_bring_documents_of_their_own(checks: Mapping[str, RuleCheck]) -> None:
    assert not [each for each in checks["INST904"].to_ship if each.startswith("cite: ")]


def test_a_unit_of_no_value_is_wrong(checks: Mapping[str, RuleCheck]) -> None:
    assert checks["INST906"].wrong == ("evidence.units: 'shar' is no value of the rule; did you mean share?",)


def test_a_missing_unit_and_a_code_of_shipped_rules_are_noted(checks: Mapping[str, RuleCheck]) -> None:
    assert checks["INST905"].notes == ("evidence.units has no unit of share",)
    assert "901 to 999" in " ".join(checks["INST900"].notes)


def test_the_page_names_all_metrics_and_parts_of_instructions() -> None:
    text = " ".join(PAGE.split())
    assert ", ".join(f"`{name}`" for name in in_words(OF_INSTRUCTIONS).split(", ")) in text
    assert all(f"`{field.name}`" in text for field in fields(Instruction))


@pytest.mark.parametrize(
    ("before", "said"),
    [
        (
            "kernels/transpose/transposeNaive.cu",
            r"write kernels/transpose/transposeNaive\.cu#NAME; its regions: kernel",
        ),
        ("kernels/transpose/transposeNaive.cu#kernl", r"no region 'kernl' in .*; its regions: kernel"),
        ("kernels/transpose/transposNaive.cu#kernel", r"transposNaive\.cu: "),
        ("mine.cu#kernel", r"mine\.cu; it has no `// ncuview: begin NAME`"),
    ],
)
def test_a_region_that_does_not_exist_is_an_error_at_load(tmp_path: Path, before: str, said: str) -> None:
    path = written(tmp_path, "INST901", RULE.replace("[[fix]]", f'[[fix]]\nbefore = "{before}"'))
    (path.parent / "mine.cu").write_text("__global__ void mine() {}\n", encoding="utf-8")
    with pytest.raises(RuleFileError, match=said):
        rules_below([tmp_path])
