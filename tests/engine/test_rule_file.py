"""Rule files: a file with a missing part does not load, and the error names file and key."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ncuview.base.errors import RuleFileError, UnknownRule, UnsafeExpression, UnsafeTemplate
from ncuview.base.paths import shipped
from ncuview.engine import rule_file
from ncuview.engine.rule_file import (
    OPTIMIZATIONS,
    find_rule,
    load_rule,
    rules_below,
    shipped_rules,
)
from ncuview.metrics.quantities import QUANTITIES

NAME = "shared-bank-conflict"
SHIPPED = shipped("rules") / "shared_memory" / f"SMEM001-{NAME}.toml"
RULE: dict[str, Any] = tomllib.loads(SHIPPED.read_text(encoding="utf-8"))

Path_ = tuple[str | int, ...]
NUMBER = {"value": 1.0, "kind": "measured", "source": "x"}


def toml(value: Any) -> str:
    """A value as inline TOML."""
    match value:
        case dict():
            return "{" + ", ".join(f"{toml(key)} = {toml(inner)}" for key, inner in value.items()) + "}"
        case list():
            return "[" + ", ".join(map(toml, value)) + "]"
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
        case _:
            return repr(value)


def written(folder: Path, content: dict[str, Any], name: str = NAME) -> Path:
    path = folder / f"{content.get('code', 'SMEM001')}-{name}.toml"
    path.write_text("\n".join(f"{key} = {toml(value)}" for key, value in content.items()), encoding="utf-8")
    return path


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    content = deepcopy(RULE)
    change(content)
    return content


def keys_of(value: Any, at: Path_ = ()) -> Iterator[Path_]:
    """The place of every key in a document."""
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(value, dict):
            yield (*at, key)
        if isinstance(inner, dict | list):
            yield from keys_of(inner, (*at, key))


OPTIONAL = {"where", "values", "units", "thresholds", "prediction", "fix", "predicted", "effects"}
OWN_NAMES = {("thresholds",), ("prediction",)}


def is_required(at: Path_) -> bool:
    """Not optional, and not a name that the rule chose itself."""
    own = at[:-1] in OWN_NAMES
    return not own and at != ("static",) and not any(at[:end][-1] in OPTIONAL for end in range(1, len(at) + 1))


REQUIRED = [at for at in keys_of(RULE) if is_required(at)]


def test_a_shipped_rule_loads_the_same_after_it_is_written_again(tmp_path: Path) -> None:
    assert load_rule(written(tmp_path, RULE)).text == load_rule(SHIPPED).text


@pytest.mark.parametrize("at", REQUIRED, ids=lambda at: ".".join(map(str, at)))
def test_a_rule_without_a_required_key_does_not_load(tmp_path: Path, at: Path_) -> None:
    content = deepcopy(RULE)
    part: Any = content
    for key in at[:-1]:
        part = part[key]
    del part[at[-1]]
    with pytest.raises(RuleFileError) as refusal:
        load_rule(written(tmp_path, content))
    assert f"{NAME}.toml: " in str(refusal.value)
    assert str(at[-1]) in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda rule: rule.update(more=1), "more"),
        (lambda rule: rule["docs"].update(more="x"), "docs.more"),
        (lambda rule: rule["effects"].update(speed="2"), "effects.speed"),
        (lambda rule: rule.update(schema=1), "schema"),
        (lambda rule: rule.update(code="smem1"), "code"),
        (lambda rule: rule.update(optimization="rewriting"), "optimization"),
        (lambda rule: rule.update(name="another-name"), "name"),
        (lambda rule: rule.update(cite=[]), "cite"),
        (lambda rule: rule.update(example=[]), "example"),
        (lambda rule: rule.update(status="new"), "status"),
        (lambda rule: rule["evidence"].update(when=[]), "evidence.when"),
        (lambda rule: rule["thresholds"].update({"a.b": NUMBER}), "thresholds.a.b"),
        (lambda rule: rule.update(prediction={"a b": NUMBER}), "prediction.a b"),
        (lambda rule: rule["thresholds"]["ways"].update(kind="guessed"), "thresholds.ways.kind"),
        (lambda rule: rule["evidence"]["values"].update({"ways.real": "1"}), "evidence.values.ways.real"),
        (lambda rule: rule["evidence"]["values"].update(warps="1"), "evidence.values.warps"),
        (lambda rule: rule["effects"].update(l2_sectors={"a": "1"}), "effects.l2_sectors"),
        (lambda rule: rule["effects"].update(added={"dram_bytes": "1"}), "effects.added.dram_bytes"),
        (lambda rule: rule["effects"].update(added="1"), "effects.added"),
        (lambda rule: rule["where"].update(among="texture_load"), "where.among"),
        (lambda rule: rule.update(summary=""), "summary"),
        (lambda rule: rule["thresholds"]["ways"].update(value="1.1"), "thresholds.ways.value"),
        (lambda rule: rule["example"][0].update(more=1.0), "example.0.more"),
        (lambda rule: rule["example"][0].update(expect="broken"), "example.0.expect"),
    ],
)
def test_a_rule_with_something_unknown_in_it_does_not_load(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], key: str
) -> None:
    with pytest.raises(RuleFileError) as refusal:
        load_rule(written(tmp_path, changed(change)))
    assert f"{NAME}.toml: {key}" in str(refusal.value)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda rule: rule["evidence"].update(applies=["wavefront > 0"]), "evidence.applies"),
        (lambda rule: rule["evidence"].update(when=["warps > 0", "open('x')"]), "evidence.when"),
        (lambda rule: rule["evidence"]["values"].update(ways="warps.real"), "evidence.values.ways"),
        (lambda rule: rule["effects"].update(l1_wavefronts="1 - of_l2"), "effects.l1_wavefronts"),
        (lambda rule: rule["effects"].update(latency_hidden="lambda: 1"), "effects.latency_hidden"),
        (lambda rule: rule["where"].update(waste="a b"), "where.waste"),
    ],
)
def test_an_expression_is_refused_under_its_key(
    tmp_path: Path, change: Callable[[dict[str, Any]], object], key: str
) -> None:
    with pytest.raises(UnsafeExpression) as refusal:
        load_rule(written(tmp_path, changed(change)))
    assert f"{NAME}.toml: {key}: " in str(refusal.value)


def test_all_errors_of_a_file_are_named_at_once(tmp_path: Path) -> None:
    def change(rule: dict[str, Any]) -> None:
        rule["evidence"]["when"].append("ways >= $ 3")
        rule["effects"]["l1_wavefrontz"] = "1"
        rule["message"]["passed"] = "{wayz}"

    with pytest.raises(RuleFileError) as refusal:
        load_rule(written(tmp_path, changed(change)))
    head, *lines = str(refusal.value).split("\n  ")
    assert head.endswith(f"{NAME}.toml has 3 errors:")
    assert [line.split(": ")[0] for line in lines] == ["evidence.when", "effects.l1_wavefrontz", "message.passed"]
    assert "'$' at column 9 is not allowed" in lines[0]
    with pytest.raises(RuleFileError, match="has 2 errors:\n  code: field required\n  name: field required"):
        load_rule(written(tmp_path, changed(lambda rule: [rule.pop("code"), rule.pop("name")])))


def test_values_are_computed_in_their_order(tmp_path: Path) -> None:
    def change(rule: dict[str, Any]) -> None:
        values = rule["evidence"]["values"]
        rule["evidence"]["values"] = {"first": "second", "second": "1", **values}

    with pytest.raises(UnsafeExpression, match=r"evidence\.values\.first: unknown name 'second'"):
        load_rule(written(tmp_path, changed(change)))


@pytest.mark.parametrize(
    ("waste", "said"),
    [
        ("fetch_sectors", "is unknown"),
        ("load_sectors", "is a number of the launch; did you mean"),
        ("duration", "is a"),
    ],
)
def test_waste_that_reads_a_number_of_the_launch_is_answered_with_the_metrics_of_instructions(
    tmp_path: Path, waste: str, said: str
) -> None:
    with pytest.raises(UnsafeExpression, match=rf"where\.waste: '{waste}' {said}") as refusal:
        load_rule(written(tmp_path, changed(lambda rule: rule["where"].update(waste=waste))))
    assert "metrics of each instruction: executions, threads, " in refusal.value.hint


def test_a_metric_of_instructions_in_a_condition_is_named_as_one(tmp_path: Path) -> None:
    with pytest.raises(UnsafeExpression, match="did you mean stall_wait") as refusal:
        load_rule(written(tmp_path, changed(lambda rule: rule["evidence"].update(when=["samples_wait > 0"]))))
    assert refusal.value.hint.startswith("samples_wait is a metric of each instruction")


def test_what_does_not_fit_the_schema_is_answered_with_a_complete_file(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError) as refusal:
        load_rule(written(tmp_path, changed(lambda rule: rule.pop("summary"))))
    assert Path(refusal.value.hint.rpartition(" ")[2]).is_file()


@pytest.mark.parametrize(
    ("message", "text"),
    [
        ("finding", "{ways.real}"),
        ("check", "{ways.real}"),
        ("passed", "{ways.real}"),
        ("not_applicable", "{ways}"),  # it has no numbers to show
    ],
)
def test_a_message_is_refused_under_its_key(tmp_path: Path, message: str, text: str) -> None:
    with pytest.raises(UnsafeTemplate, match=rf"{NAME}\.toml: message\.{message}: "):
        load_rule(written(tmp_path, changed(lambda rule: rule["message"].update({message: text}))))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match=r"none\.toml"):
        load_rule(tmp_path / "none.toml")


@pytest.mark.parametrize(("key", "name"), [("code", "another-name"), ("name", NAME)])
def test_two_rules_with_one_code_or_name_do_not_load_together(tmp_path: Path, key: str, name: str) -> None:
    (tmp_path / "topic").mkdir()
    code = RULE["code"] if key == "code" else "OWN001"
    written(tmp_path / "topic", {**RULE, "code": code, "name": name}, name)
    with pytest.raises(RuleFileError, match=f"{key} '.*' is taken by .*{NAME}"):
        rules_below([shipped("rules"), tmp_path])


def test_a_users_rules_join_the_shipped_ones(tmp_path: Path) -> None:
    (tmp_path / "topic").mkdir()
    written(tmp_path / "topic", {**RULE, "code": "OWN001", "name": "own-rule"}, "own-rule")
    codes = [rule.text.code for rule in rules_below([shipped("rules"), tmp_path])]
    assert "OWN001" in codes
    assert codes == sorted(codes)


@pytest.mark.parametrize("wanted", ["SMEM001", "smem001", NAME, NAME.upper()])
def test_a_rule_is_found_by_code_or_name_in_any_case(wanted: str) -> None:
    assert find_rule(rules_below([shipped("rules")]), wanted).path == SHIPPED


def test_a_rule_that_does_not_exist_is_unknown() -> None:
    with pytest.raises(UnknownRule, match="SMEM999"):
        find_rule(rules_below([shipped("rules")]), "SMEM999")


def test_a_rule_needs_the_metrics_of_its_quantities_and_of_its_lines() -> None:
    rule = load_rule(SHIPPED)
    lines = {"memory_l1_wavefronts_shared", "memory_l1_wavefronts_shared_ideal"}
    assert {*QUANTITIES["stall_mio_throttle"].metrics, *lines} <= rule.metric_names()
    assert replace(rule, inputs=("duration",), waste=None).metric_names() == {"gpu__time_duration.sum"}


def test_the_closed_list_of_optimizations_has_24_words() -> None:
    assert len(set(OPTIMIZATIONS)) == len(OPTIMIZATIONS) == 24


BAD_FILES = {
    "nested arrays": b"a = " + b"[" * 10_000,
    "a long dotted key": b"a." * 40_000 + b"a = 1",
    "too large": b"# " + b"x" * (1 << 19),
    "a number": b"schema = " + b"9" * 10_000,
    "no UTF-8": b"\xff\xfe",
    "no value": b"schema = ",
    "a key twice": b"schema = 1\nschema = 1",
    "a zero byte": b"\0",
    "empty": b"",
    "no rule": b"x = 1",
    "not a number": b"thresholds.ways.value = nan",
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES)
def test_a_file_that_is_no_rule_or_would_exhaust_memory_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / f"{NAME}.toml"
    path.write_bytes(content)
    with pytest.raises(RuleFileError, match=rf"{NAME}\.toml(:| has \d+ errors:)") as refused:
        load_rule(path)
    assert refused.value.exit_code == 2
    assert len(str(refused.value)) < 1000


def test_a_hundred_megabytes_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / f"{NAME}.toml"
    with path.open("wb") as large:
        large.truncate(100 << 20)
    with pytest.raises(RuleFileError, match="larger than"):
        load_rule(path)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_threshold_is_a_number(tmp_path: Path, value: float) -> None:
    content = changed(lambda rule: rule["thresholds"]["ways"].update(value=value))
    with pytest.raises(RuleFileError, match=r"thresholds\.ways\.value"):
        load_rule(written(tmp_path, content))


def test_a_missing_region_is_an_error_in_the_shipped_folder_too_when_a_user_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "topic").mkdir()
    content = changed(lambda rule: rule["fix"][0].update(before="kernels/transpose/transposeNaive.cu#kernl"))
    written(tmp_path / "topic", content)
    monkeypatch.setattr(rule_file, "shipped", lambda _: tmp_path)
    assert shipped_rules.__wrapped__()
    with pytest.raises(RuleFileError, match="no region 'kernl'"):
        rules_below([tmp_path])


def test_a_folder_without_rules_and_what_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(RuleFileError, match="holds no rules"):
        rules_below([tmp_path])
    with pytest.raises(RuleFileError, match="is no folder"):
        rules_below([tmp_path / "missing"])
