# ruff: noqa: C901, D103, PLR0912
# mypy: ignore-errors
"""Rewrite rule files of schema 1 as schema 2; deleted once it has run.

    python benchmarks/rewrite_rules.py rules

Aliases become the names of quantities and metrics, conjunctions become lists, and thresholds that decide nothing become
parameters of the prediction.
"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from pathlib import Path

from ncuview.metrics.names import NAMES, OF_INSTRUCTIONS
from ncuview.metrics.quantities import QUANTITIES

RENAMED = {
    "lanes_launched": "threads_per_warp",
    "load_turns": "load_iterations",
    "fill": "gpu_fill",
    "executed_share": "executed_per_issued",
    "stored_lanes": "store_lanes",
    "loop_turns": "loop_iterations",
    "division_leaves": "division_replacements",
    "alike_instructions": "thread_invariant_instructions",
    "alike_floats": "thread_invariant_floats",
    "alike_results": "thread_invariant_results",
    "sectors_alike_in_x": "sectors_invariant_in_x",
    "sectors_alike_in_y": "sectors_invariant_in_y",
    "sectors_alike_in_z": "sectors_invariant_in_z",
    "loads_again": "repeated_pass_loads",
    "sectors_again": "repeated_pass_sectors",
    "loads_that_could_join": "fusible_pass_loads",
    "sectors_that_could_join": "fusible_pass_sectors",
    "split_lines": "split_tag_requests",
    "gathered_again": "regathered_loads",
    "load_lines": "load_tag_requests",
    "store_lines": "store_tag_requests",
    "tiny_loads": "narrow_loads",
    "loads_behind_stores": "loads_after_stores",
    "data_branches": "data_dependent_branches",
    "half_loads": "half_warp_loads",
}
SHORT = {ncu: short for short, ncu in NAMES.items()}
VALUES = {
    "loads_per_warp": "missed_loads_per_warp",
}
"""Values of rules whose names a quantity has now."""
PARAMETERS = {"with": "companions"}
"""Parameters whose names are words of Python."""


def canonical(names: list[str]) -> str:
    [name] = names
    if name.startswith("derived:"):
        old = name.removeprefix("derived:")
        new = RENAMED.get(old, old)
        assert new in QUANTITIES, new
        return new
    return SHORT[name]


def renamed(text: str, names: dict[str, str]) -> str:
    """An expression with its names replaced, otherwise as it was written."""
    found = [node for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)]
    for node in sorted(found, key=lambda node: -node.col_offset):
        if node.id in names:
            text = text[: node.col_offset] + names[node.id] + text[node.end_col_offset :]
    return text


def conditions(text: str) -> list[str]:
    """The parts of a conjunction."""
    tree = ast.parse(text, mode="eval").body
    if isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And):
        return [segment(text, part) for part in tree.values]
    return [text]


def segment(text: str, node: ast.expr) -> str:
    found = ast.get_source_segment(text, node)
    assert found is not None
    return found


def filled(text: str, names: dict[str, str]) -> str:
    """A message with its names replaced."""
    return re.sub(r"\{([a-z_0-9]+)", lambda match: "{" + names.get(match[1], match[1]), text)


def used(text: str) -> set[str]:
    return {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}


def decisive(rule: dict) -> set[str]:
    """Names that decide whether the rule applies or fires."""
    evidence = rule["evidence"]
    found = used(evidence["applies"]) | used(evidence["when"])
    for name, text in reversed(evidence.get("let", {}).items()):
        if name in found:
            found |= used(text)
    return found


def string(text: str) -> str:
    if "\n" in text:
        return '"""\n' + text.replace("\\", "\\\\") + '"""'
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def number(value: float) -> str:
    return repr(value)


def kind(why: str) -> str:
    lower = why.lower()
    if "judgement" in lower or "fitted" in lower or lower.startswith("as in "):
        return "assumed"
    return "measured" if re.search(r"\d|measured|reads?\b", why) else "documented"


def converted(rule: dict) -> str:
    names = {alias: canonical(of) for alias, of in rule["metrics"].items()}
    evidence, gain = rule["evidence"], rule["gain"]
    for value in evidence.get("let", {}):
        if value in QUANTITIES or value in NAMES or value in names.values():
            names[value] = VALUES[value]
    deciding = decisive(rule)
    places = {name: ("threshold" if f"threshold_{name}" in deciding else "prediction") for name in rule["thresholds"]}
    names |= {f"threshold_{name}": f"{place}.{PARAMETERS.get(name, name)}" for name, place in places.items()}
    out: list[str] = ["schema = 2"]
    out += [f"{key} = {string(rule[key])}" for key in ("code", "name")]
    out += ['status = "shipped"']
    out += [f"{key} = {string(rule[key])}" for key in ("optimization", "summary")]
    out += ["", "[docs]", *(f"{key} = {string(text)}" for key, text in rule["docs"].items())]
    for cite in rule["cite"]:
        out += ["", "[[cite]]", *(f"{key} = {string(text)}" for key, text in cite.items())]
    out += ["", "[evidence]"]
    for key in ("applies", "when"):
        parts = [string(renamed(part, names)) for part in conditions(evidence[key])]
        out += (
            [f"{key} = [{parts[0]}]"] if len(parts) == 1 else [f"{key} = [", *(f"    {part}," for part in parts), "]"]
        )
    if evidence.get("let"):
        out += ["", "[evidence.values]"]
        out += [f"{names.get(name, name)} = {string(renamed(text, names))}" for name, text in evidence["let"].items()]
    units = {names.get(name, name): unit for name, unit in evidence.get("units", {}).items()}
    units = {name: unit for name, unit in units.items() if name not in QUANTITIES}
    if units:
        out += ["", "[evidence.units]", *(f"{name} = {string(unit)}" for name, unit in units.items())]
    for table, place in (("thresholds", "threshold"), ("prediction", "prediction")):
        for name, threshold in rule["thresholds"].items():
            if places[name] == place:
                out += ["", f"[{table}.{PARAMETERS.get(name, name)}]", f"value = {number(threshold['value'])}"]
                out += [f"kind = {string(kind(threshold['why']))}", f"source = {string(threshold['why'])}"]
    out += ["", "[gain]"]
    for key, value in gain.items():
        if isinstance(value, str):
            out += [f"{key} = {string(value if key == 'assumes' else renamed(value, names))}"]
    for key in ("scale", "adds"):
        if gain.get(key):
            out += ["", f"[gain.{key}]"]
            out += [f"{unit} = {string(renamed(text, names))}" for unit, text in gain[key].items()]
    if "where" in rule:
        where = dict(rule["where"])
        where["waste"] = renamed(where["waste"], {ncu: short for short, ncu in OF_INSTRUCTIONS.items()})
        out += ["", "[where]", *(f"{key} = {string(text)}" for key, text in where.items())]
    out += ["", "[message]", *(f"{key} = {string(filled(text, names))}" for key, text in rule["message"].items())]
    for fix in rule["fix"]:
        out += ["", "[[fix]]", *(f"{key} = {string(text)}" for key, text in fix.items())]
    for case in rule["case"]:
        out += ["", "[[case]]", f"name = {string(case['name'])}"]
        out += [f"gpu = {string(case['gpu'])}"] if "gpu" in case else []
        inputs = ", ".join(f"{names[alias]} = {number(value)}" for alias, value in case["metrics"].items())
        out += [f"inputs = {{ {inputs} }}", f"expect = {string(case['expect'])}"]
        if case.get("values"):
            values = ", ".join(f"{names.get(name, name)} = {number(value)}" for name, value in case["values"].items())
            out += [f"values = {{ {values} }}"]
    return "\n".join(out) + "\n"


def main(folder: Path) -> None:
    for path in sorted(folder.glob("*/*.toml")):
        rule = tomllib.loads(path.read_text(encoding="utf-8"))
        if rule["schema"] == 1:
            path.write_text(converted(rule), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
