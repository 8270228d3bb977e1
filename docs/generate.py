"""Write the pages and schemas of docs/reference from the code: ``python -m docs.generate``.

Parts of docs/how-to/write-a-rule.md stand between ``<!-- NAME: ... -->`` and ``<!-- end -->``.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import typer

from ncuview.base import errors, expression
from ncuview.base.errors import NcuviewError
from ncuview.base.expression import ARITHMETIC, COMPARISONS, FUNCTIONS, UNARY, compile_expression
from ncuview.cli.app import INTERNAL_ERROR, app
from ncuview.cli.help_panels import Page, panels_of
from ncuview.engine.rule_file import OPTIMIZATIONS, shipped_rules
from ncuview.mcp_server.documents import schemas as answer_schemas
from ncuview.metrics.names import NAMES as SHORT_NAMES
from ncuview.metrics.names import OF_INSTRUCTIONS
from ncuview.metrics.quantities import QUANTITIES
from ncuview.metrics.textbook import definitions
from ncuview.profiling.ncu_failures import catalogue
from ncuview.programs.rule_file import program_rules
from ncuview.render.lists import without_code_words
from ncuview.render.metric_page import quantity_reference
from ncuview.render.schemas import NAMES as DOCUMENTS
from ncuview.render.schemas import schema
from ncuview.render.text import json_text
from ncuview.speedup.effects import ADDED, EFFECTS, LATENCY_HIDDEN, TIME_LEFT
from ncuview.store import schema as store_schema

DOCS = Path(__file__).resolve().parent
REFERENCE = DOCS / "reference"
ANSWERS = DOCS.parent / "ncuview" / "mcp_server" / "schemas.json"
"""The schemas of the answers of ``ncuview mcp``, which ship."""
_WIDTH = 120


def pages() -> Mapping[Path, str]:
    """Each generated file and its text."""
    texts = {
        "commands.md": commands(),
        "rules.md": rules(),
        "quantities.md": quantity_reference(QUANTITIES.values(), SHORT_NAMES, OF_INSTRUCTIONS),
        "metrics.md": metrics(),
        "expressions.md": expressions(),
        "failures.md": failures(),
        "json.md": json_documents(),
        "store.md": store_tables(),
        **{f"{name}.schema.json": json_text(schema(name)) for name in DOCUMENTS},
    }
    found = {REFERENCE / name: text for name, text in texts.items()}
    return {**found, ANSWERS: answer_schemas(), **how_to_write_a_rule()}


def how_to_write_a_rule() -> Mapping[Path, str]:
    """The page that leads to a rule, with the optimizations and effects that there are."""
    page = DOCS / "how-to" / "write-a-rule.md"
    text = page.read_text(encoding="utf-8")
    for name, part in (("optimizations", _optimizations()), ("effects", _effects())):
        marked = re.compile(rf"(<!-- {name}: [^\n]* -->\n).*?(<!-- end -->)", re.DOTALL)
        text = marked.sub(rf"\g<1>{part}\g<2>", text)
    return {page: text}


def _optimizations() -> str:
    return textwrap.fill(", ".join(f"`{word}`" for word in OPTIMIZATIONS) + ".", _WIDTH) + "\n"


def _effects() -> str:
    rows = ((f"`{name}`", ", ".join(units)) for name, units in EFFECTS.items())
    added = ", ".join(f"`{name}`" for name in ADDED)
    others = (
        f"`{LATENCY_HIDDEN}` is the share of the waiting that goes away, `{TIME_LEFT}` the share of the time that is "
        f"left at least, and a table `[effects.added]` holds work that the change adds, of warps: {added}."
    )
    return f"{_table(('effect: share left', 'of the work of'), rows)}\n{textwrap.fill(others, _WIDTH)}\n"


def commands() -> str:
    """Every command with its arguments and options, as ``--help-all`` prints them."""
    pages = (
        "`ncuview COMMAND --help` prints what most runs use, `--help-ncu` ncu's options, `--help-all` all of these.\n"
    )
    parts = ["# Commands\n", pages, "## Exit codes\n", _exit_codes()]
    group: Any = typer.main.get_command(app)
    parts += _commands_of(group, group.make_context("ncuview", [], resilient_parsing=True))
    return "\n".join(parts)


def _commands_of(group: Any, context: Any) -> Iterator[str]:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        inner = command.make_context(name, [], parent=context, resilient_parsing=True)
        yield f"## {inner.command_path}\n"
        yield f"{command.help}\n"
        yield f"```text\n{inner.command_path} {' '.join(command.collect_usage_pieces(inner))}\n```\n"
        for panel, rows in panels_of(command, inner, Page.ALL):
            yield f"**{panel.title}**, as in `{panel.example}`\n"
            yield _table(("word", "meaning"), ((f"`{word}`", meaning) for word, meaning in rows))
        if hasattr(command, "list_commands"):
            yield from _commands_of(command, inner)


def _exit_codes() -> str:
    by_code: dict[int, list[str]] = {}
    for kind in NcuviewError.__subclasses__():
        if kind is not errors.Incomplete:
            by_code.setdefault(kind.exit_code, []).append(_first_line(kind))
    meanings = {
        0: "The command ran.",
        1: "A gate is closed; nothing else ends with 1.",
        **{code: " ".join(lines) for code, lines in by_code.items()},
        INTERNAL_ERROR: "A bug of ncuview.",
        130: "Interrupted (SIGINT); 143 after SIGTERM.",
    }
    return _table(("code", "meaning"), ((str(code), meaning) for code, meaning in sorted(meanings.items())))


def rules() -> str:
    """The shipped rules: a table, and what each measures, assumes and leaves out."""
    known = sorted(shipped_rules(), key=lambda rule: (rule.path.parent.name, rule.text.code))
    rows = (
        (f"[{rule.text.code}](#{rule.text.code.lower()}-{rule.text.name})", rule.text.optimization, rule.text.summary)
        for rule in known
    )
    parts = [
        "# Rules\n",
        f"The {len(known)} rules that ship. `ncuview explain CODE` adds the change before and after on real code,",
        "the thresholds with the measurement that each rests on, and the documents that teach it.\n",
        "A name such as `k58f` is a measured launch: launch f of the labelled program p058, whose source is",
        "`validation/programs/p058-*.cu` ([labels](../../validation/README.md)). Other kernels are the catalogue's.\n",
        _table(("rule", "optimization", "finds"), rows),
    ]
    for rule in known:
        text = rule.text
        draft = "\nA draft: it is marked, and never comes first.\n" if text.status == "draft" else ""
        parts += [
            f"## {text.code} {text.name}\n{draft}",
            f"- **Measures**: {_flowing(text.docs.what)}",
            f"- **Why it matters**: {_flowing(text.docs.why)}",
            f"- **Fix**: {'; or: '.join(_flowing(fix.title) for fix in text.fix)}.",
            f"- **The prediction assumes**: {_flowing(text.docs.assumes)}.",
            f"- **Limits**: {_flowing(text.docs.limits)}",
            *([f"- **Without machine code**: {_flowing(words)}"] if (words := without_code_words(rule)) else []),
            "",
        ]
    return "\n".join([*parts, *_rules_of_programs()])


def _rules_of_programs() -> Iterator[str]:
    """The rules about the calls of a program."""
    known = program_rules()
    yield "## Rules about programs\n"
    yield f"{len(known)} rules over the sequence of launches, for programs with call stacks. They name a call to"
    yield "change and the time that it saves, and always run: `--select` and `--ignore` choose among the rules above.\n"
    rows = ((f"[{each.code}](#{each.code.lower()}-{each.name})", each.change, each.summary) for each in known)
    yield _table(("rule", "change", "finds"), rows)
    for rule in known:
        yield f"## {rule.code} {rule.name}\n"
        yield f"- **Looks for**: {_flowing(rule.docs.what)}"
        yield f"- **Why it matters**: {_flowing(rule.docs.why)}"
        for framework, terms in rule.frameworks.items():
            yield f"- **Change, {framework}**: {_flowing(terms.advice)} ([documentation]({terms.link}))"
        yield f"- **The prediction assumes**: {_flowing(rule.docs.assumes)}."
        yield f"- **Not where**: {' '.join(map(_flowing, rule.docs.not_where))}\n"


def metrics() -> str:
    """The metrics of nvprof and the textbooks, in Nsight Compute's terms."""
    rows = (
        (
            f"`{each.name}`",
            each.unit,
            " ".join(filter(None, (each.definition, each.notes))),
            "<br>or ".join(f"`{text}`" for text in each.expressions) or "no equivalent",
        )
        for each in sorted(definitions().values(), key=lambda each: each.name)
    )
    return "\n".join(
        [
            "# Textbook metrics\n",
            "The metrics and events of nvprof, which documents use, over Nsight Compute's metrics. The first",
            "expression whose metrics a launch has gives the value. `ncuview metrics NAME` shows one of them, with",
            "what NVIDIA's table of equivalents says.\n",
            _table(("metric", "unit", "meaning", "computed from"), rows),
        ]
    )


def expressions() -> str:
    """The arithmetic of rules, kernel files and textbook metrics, with results computed here."""
    binary = [ast.BinOp(ast.Name("a"), kind(), ast.Name("b")) for kind in ARITHMETIC]
    compared = [ast.Compare(ast.Name("a"), [kind()], [ast.Name("b")]) for kind in COMPARISONS]
    single = [ast.UnaryOp(kind(), ast.Name("a")) for kind in UNARY]
    written = [ast.unparse(each) for each in (*binary, *compared, *single)]
    semantics = _markdown(inspect.getdoc(expression) or "").partition("\n\n")[2]
    called = ((f"`{name}`", _arity(arity), meaning) for name, (_, arity, meaning) in FUNCTIONS.items())
    shown = ("7 / 2", "1 < 2 < 3", "1 / 0", "1 / 0 > 3", "1 > 2 and 1 / 0 > 3", "where(2 > 1, 5, 6)", "min(3, 1 / 0)")
    return "\n".join(
        [
            "# Expressions\n",
            f"{semantics}\n",
            "## Operators\n",
            f"{', '.join(f'`{each}`' for each in written)}, `a and b`, `a or b`, and parentheses.\n",
            "## Functions\n",
            _table(("function", "arguments", "value"), called),
            "## Examples\n",
            _table(("expression", "value"), ((f"`{text}`", _value(text)) for text in shown)),
            "## Bounds\n",
            f"At most {expression.MAX_LENGTH:,} characters, {expression.MAX_PARTS} numbers, names and operations,",
            f"and {expression.MAX_DEPTH} levels of nesting.\n",
        ]
    )


def _arity(arity: range) -> str:
    return str(arity[0]) if len(arity) == 1 else f"{arity[0]} to {arity[-1]}"


def _value(text: str) -> str:
    value = float(compile_expression(text).evaluate({}))
    return "unknown" if np.isnan(value) else f"{value:g}"


def failures() -> str:
    """The failures of ncu that are recognised, and ncuview's own errors."""
    of_ncu = (
        (f"**{each.id}**", each.what, each.why, each.fix, _exit_code(each.error) if each.error else "none")
        for each in catalogue()
    )
    own = ((f"`{kind.__name__}`", _first_line(kind), _exit_code(kind.__name__)) for kind in _error_classes())
    return "\n".join(
        [
            "# Failures\n",
            "Every failure has a stable name: it stands before the message, and is `error.id` in JSON.",
            "[Trust in files and runs](../explanation/trust-in-files.md) says what is shown beside it.\n",
            "## Failures of Nsight Compute\n",
            "Of several complaints the most specific counts, in the order of this table.\n",
            _table(("name", "what happened", "usual causes", "what to do", "exit code"), of_ncu),
            "## Errors of ncuview\n",
            _table(("name", "meaning", "exit code"), own),
        ]
    )


def _error_classes() -> list[type[NcuviewError]]:
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, NcuviewError)]
    return [kind for kind in found if kind is not NcuviewError]


def _exit_code(name: str) -> str:
    return "that of the cause" if name == "Incomplete" else str(getattr(errors, name).exit_code)


def json_documents() -> str:
    """The JSON documents and their objects, from the schemas."""
    parts = ["# JSON documents\n", "Each document names its schema and version in `schema`. Objects are closed.\n"]
    objects: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for name in DOCUMENTS:
        document = schema(name)
        parts += [f"## {document['title']}\n", f"{document['description']}\n"]
        parts += [f"JSON Schema: [{name}.schema.json]({name}.schema.json)\n", _properties(document)]
        for title, form in document.get("$defs", {}).items():
            key = title if title not in objects or objects[title][0] == form else f"{title} of {document['title']}"
            objects.setdefault(key, (form, []))[1].append(name)
    parts.append("## Objects\n")
    for title, (form, documents) in sorted(objects.items()):
        parts += [f"### {title}\n", f"{form.get('description', '')} In: {', '.join(documents)}.\n".lstrip()]
        parts.append(_properties(form))
    return "\n".join(parts)


def store_tables() -> str:
    """The tables of a store with their columns."""
    head = (inspect.getdoc(store_schema) or "").split("\n\n")
    types = f"Types: {'; '.join(f'`{name}` is {arrow}' for name, arrow in store_schema.TYPES.items())}."
    parts = [
        "# Tables of a store\n",
        f"`ncuview store add PATHS... --to STORE` writes them, in version {store_schema.VERSION}. Each Parquet file",
        f"names its table and version in its metadata (`{store_schema.VERSION_KEY}`), and each field its meaning and",
        "unit.\n",
        *(f"{_markdown(paragraph)}\n" for paragraph in head[1:]),
        f"{textwrap.fill(types, _WIDTH)}\n",
    ]
    for table in store_schema.TABLES:
        rows = ((f"`{each.name}`", each.type, each.unit, each.meaning) for each in table.columns)
        parts += [f"## {table.name}\n", f"{table.meaning}\n", _table(("column", "type", "unit", "meaning"), rows)]
    views = resources.files("ncuview.store").joinpath("views.sql").read_text(encoding="utf-8")
    about, *_ = views.partition("\n\n")
    found = re.findall(r"((?:^-- .*\n)+)CREATE OR REPLACE VIEW (\w+)", views, re.MULTILINE)
    listed = [(f"`{name}`", _comment(comment)) for comment, name in found]
    parts += [
        "## Views\n",
        f"{textwrap.fill(_comment(about), _WIDTH)}\n",
        _table(("view", "what a row is about"), listed),
    ]
    return "\n".join(parts)


def _comment(text: str) -> str:
    """A comment of SQL as one line."""
    return " ".join(line.removeprefix("--").strip() for line in text.splitlines()).strip()


def _properties(form: Mapping[str, Any]) -> str:
    required = form.get("required", ())
    rows = (
        (f"`{name}`", _type(each) + ("" if name in required else ", optional"), _meaning(each))
        for name, each in form.get("properties", {}).items()
    )
    return _table(("property", "type", "meaning"), rows)


def _meaning(form: Mapping[str, Any]) -> str:
    """What a property is, and that its text comes from reports."""
    return f"{form.get('description', '')}{' Text of others.' if form.get('x-foreign') else ''}"


def _type(form: Mapping[str, Any]) -> str:
    """The type of a property in words."""
    match form:
        case {"$ref": str(name)}:
            return name.rpartition("/")[2]
        case {"const": value}:
            return f"`{json.dumps(value)}`"
        case {"enum": [*values]}:
            return " or ".join(f"`{json.dumps(value)}`" for value in values)
        case {"anyOf": [*forms]}:
            return " or ".join(map(_type, forms))
        case {"type": "array", "items": dict(items)}:
            return f"list of {_type(items)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"object of {_type(values)}"
        case {"type": kind}:
            return str(kind)
    return "any"


def _first_line(kind: type) -> str:
    return _markdown(inspect.getdoc(kind) or "").splitlines()[0]


def _markdown(docstring: str) -> str:
    return docstring.replace("``", "`")


def _flowing(text: str) -> str:
    return " ".join(text.split())


def _table(head: tuple[str, ...], rows: Iterable[Iterable[str]]) -> str:
    lines = [head, ("---",) * len(head), *([_cell(cell) for cell in row] for row in rows)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _cell(text: str) -> str:
    """One line, in which only ``<br>`` is markup; code spans stay as they are."""
    parts = _flowing(text).replace("|", "\\|").split("`")
    return "`".join(part if at % 2 else re.sub(r"<(?!br>)", "&lt;", part) for at, part in enumerate(parts))


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
