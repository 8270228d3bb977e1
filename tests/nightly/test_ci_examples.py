"""The files for GitHub and GitLab: valid, safe whatever their inputs hold, and run as written on stored reports."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema.validators import validator_for  # type: ignore[import-untyped]
from lxml import etree

from ncuview.base.paths import shipped

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / "examples" / "ci"
ACTION, WORKFLOW = CI / "github" / "action.yml", CI / "github" / "workflow.yml"
GITLAB = CI / "gitlab" / "ncuview.gitlab-ci.yml"
REPORT = shipped("kernels") / "bank_patterns" / "h200.ncu-repz"
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
SHA = re.compile(r"[\w-]+/[\w./-]+@[0-9a-f]{40}")

OPEN = '[[budget]]\nkernel = "bank_linear"\nmetric = "shared_bank_conflict_ways"\nmax = 1.05\n'
CLOSED = OPEN.replace("bank_linear", "bank_column")
BROKEN = OPEN.replace("max", "maximum")
HOSTILE = [
    "$(touch owned)",
    "`touch owned`",
    "; touch owned",
    "' ; touch owned ; '",
    '" ; touch owned ; "',
    "--help",
    "-o=owned.html",
    "a\nb && touch owned",
    "END\ntouch owned\n",
    "*",
]


@cache
def content(file: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return loaded


def scripts(node: Any) -> Iterator[str]:
    """Every text that a shell gets."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key == "run":
                yield value
            elif key in {"script", "before_script", "after_script"}:
                yield from value
            else:
                yield from scripts(value)
    elif isinstance(node, list):
        for part in node:
            yield from scripts(part)


def steps(node: Any) -> Iterator[dict[str, Any]]:
    for job in node["jobs"].values():
        yield from job["steps"]


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A repository with reports and budgets, in which jobs run."""
    (tmp_path / "reports").mkdir()
    shutil.copy(REPORT, tmp_path / "reports" / "bank patterns.ncu-repz")
    (tmp_path / "ci").mkdir()
    for name, text in (("open", OPEN), ("closed", CLOSED), ("broken", BROKEN)):
        (tmp_path / "ci" / f"{name}.toml").write_text(text)
    (tmp_path / "empty").mkdir()
    return tmp_path


def install(folder: Path, name: str, script: str) -> None:
    """A program of this name in a folder; nothing else is run under that name."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / name
    file.write_text(f"#!/bin/bash\n{script}\n")
    file.chmod(file.stat().st_mode | stat.S_IXUSR)


def run(
    script: str, folder: Path, environment: Mapping[str, str], shell: str = "bash"
) -> subprocess.CompletedProcess[str]:
    """Run a script as the runners do: all of it in one shell that stops at the first error."""
    options = ["--noprofile", "--norc", "-eo", "pipefail"] if shell == "bash" else ["-e"]
    bin_folder = folder / "bin"
    if not (bin_folder / "ncuview").exists():
        install(bin_folder, "ncuview", f'exec {sys.executable} -m ncuview "$@"')
    surroundings = {
        "PATH": f"{bin_folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "XDG_CONFIG_HOME": str(folder),
        "HOME": str(folder),
    }
    return subprocess.run(
        [shell, *options, "-c", script],
        cwd=folder,
        env={**surroundings, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def action_step(name: str) -> dict[str, Any]:
    return next(step for step in content(ACTION)["runs"]["steps"] if step["name"] == name)


def given(name: str, inputs: Mapping[str, str]) -> dict[str, str]:
    """The environment of a step of the action for these inputs."""
    known = {key: value["default"] for key, value in content(ACTION)["inputs"].items()}
    assert inputs.keys() <= known.keys()
    values = {f"inputs.{key}": value for key, value in {**known, **inputs}.items()}
    return {
        key: EXPRESSION.sub(lambda found: values[found[1]], value) for key, value in action_step(name)["env"].items()
    }


Checked = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def github(here: Path) -> Checked:
    """The step of the action that checks, with the files that a runner gives it."""

    def check(**inputs: str) -> subprocess.CompletedProcess[str]:
        environment = given("Check", {key.replace("_", "-"): value for key, value in inputs.items()})
        for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
            (here / name).touch()
            environment[name] = str(here / name)
        return run(action_step("Check")["run"], here, environment)

    return check


@pytest.fixture(params=["bash", "sh"])
def gitlab(here: Path, request: pytest.FixtureRequest) -> Checked:
    """The script of the GitLab template, in the shells that images have."""

    def check(**variables: str) -> subprocess.CompletedProcess[str]:
        known = {**content(GITLAB)["variables"], "NCUVIEW_INSTALL": "none"}
        chosen = {f"NCUVIEW_{key.upper()}": value for key, value in variables.items()}
        assert chosen.keys() <= known.keys()
        job = content(GITLAB)[".ncuview"]
        script = "\n".join([*job["before_script"], *job["script"]])
        return run(script, here, {**known, **chosen}, request.param)

    return check


def test_the_files_are_as_github_and_gitlab_describe_them() -> None:
    schemas = {ACTION: "github-actions", WORKFLOW: "github-workflows", GITLAB: "gitlab-ci"}
    for file, name in schemas.items():
        text = files("check_jsonschema").joinpath(f"builtin_schemas/vendor/{name}.json").read_text(encoding="utf-8")
        schema = json.loads(text)
        found = list(validator_for(schema)(schema).iter_errors(_as_json(content(file))))
        assert not found, f"{file.name}: {found[0].message}"


def _as_json(node: Any) -> Any:
    """YAML 1.1 reads the key ``on`` as true."""
    if isinstance(node, dict):
        return {"on" if key is True else key: _as_json(value) for key, value in node.items()}
    return [_as_json(part) for part in node] if isinstance(node, list) else node


@pytest.mark.parametrize("file", [ACTION, WORKFLOW, GITLAB], ids=lambda file: file.name)
def test_no_expression_is_part_of_a_script(file: Path) -> None:
    found = list(scripts(content(file)))
    assert found
    assert not [script for script in found if "${{" in script]


def test_a_workflow_may_read_only_and_a_job_that_writes_checks_out_nothing() -> None:
    workflow = content(WORKFLOW)
    assert workflow["permissions"] == {"contents": "read"}
    writers = {name: job for name, job in workflow["jobs"].items() if "permissions" in job}
    assert {name: job["permissions"] for name, job in writers.items()} == {"comment": {"pull-requests": "write"}}
    assert not any("checkout" in step.get("uses", "") for job in writers.values() for step in job["steps"])
    assert "head.repo.full_name == github.repository" in writers["comment"]["if"]
    assert "pull_request_target" not in WORKFLOW.read_text(encoding="utf-8")


def test_other_s_actions_are_pinned_and_leave_no_credentials() -> None:
    used = [step for step in steps(content(WORKFLOW)) if "uses" in step]
    ours = {step["uses"] for step in used if step["uses"].startswith("OWNER/")}
    assert ours == {"OWNER/ncuview/examples/ci/github@main"}
    assert all(SHA.fullmatch(step["uses"]) for step in used if step["uses"] not in ours)
    checkouts = [step for step in used if step["uses"].startswith("actions/checkout@")]
    assert checkouts
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)
    assert not any("uses" in step for step in content(ACTION)["runs"]["steps"])


def test_the_workflow_gives_the_action_what_it_takes() -> None:
    known = content(ACTION)["inputs"].keys()
    given = [step["with"].keys() for step in steps(content(WORKFLOW)) if step.get("uses", "").startswith("OWNER/")]
    assert given
    assert all(each <= known for each in given)


@pytest.mark.parametrize(
    ("inputs", "code"),
    [
        ({"budget": "ci/open.toml", "baseline": "ci/none.json", "allow_missing_baseline": "true"}, 0),
        ({"budget": "ci/closed.toml", "fail_on": "off"}, 0),
        ({"budget": "ci/broken.toml"}, 2),
        ({"budget": "ci/open.toml", "reports": "empty"}, 3),
        ({"budget": "ci/open.toml", "baseline": "ci/none.json"}, 4),
        ({"program": "true"}, 5),
    ],
    ids=str,
)
def test_the_action_leaves_with_the_gate_s_code(github: Checked, here: Path, inputs: dict[str, str], code: int) -> None:
    done = github(**inputs)
    assert done.returncode == code, done.stderr
    assert (here / "GITHUB_OUTPUT").read_text() == f"exit-code={code}\n"


def test_a_regression_against_the_baseline_closes_the_gate(github: Checked, here: Path) -> None:
    saved = run("ncuview check reports --save-baseline ci/base.json", here, {})
    assert saved.returncode == 0, saved.stderr
    clean = github(baseline="ci/base.json")
    assert clean.returncode == 0, clean.stderr
    earlier = json.loads((here / "ci" / "base.json").read_text())
    kernel = next(each for each in earlier["kernels"] if each["kernel"] == "bank_column")
    kernel["metrics"]["shared_bank_conflict_ways"]["median"] = 1.0
    (here / "ci" / "base.json").write_text(json.dumps(earlier))
    done = github(baseline="ci/base.json")
    assert done.returncode == 1, done.stderr
    assert re.search(r"^::error .*bank_column", done.stdout, re.MULTILINE)


def test_the_action_writes_every_page(github: Checked, here: Path) -> None:
    assert github(budget="ci/closed.toml", folder="my report").returncode == 1
    folder = here / "my report"
    assert {file.name for file in folder.iterdir()} == {
        "comment.md",
        "diagnosis.json",
        "junit.xml",
        "ncuview.sarif",
        "report.html",
        "summary.md",
    }
    assert etree.parse(folder / "junit.xml").getroot().tag == "testsuites"
    assert json.loads((folder / "ncuview.sarif").read_text())["version"] == "2.1.0"
    assert (here / "GITHUB_STEP_SUMMARY").read_text() == (folder / "summary.md").read_text() != ""


def test_the_action_annotates_lines_of_the_checkout(github: Checked, here: Path) -> None:
    source = next(shipped("kernels").glob("bank_patterns/bank_column.cu"))
    (here / "gpu" / "bank_patterns").mkdir(parents=True)
    shutil.copy(source, here / "gpu" / "bank_patterns")
    assert "file=gpu/bank_patterns/bank_column.cu,line=" in github(budget="ci/closed.toml").stdout
    assert "file=bank_patterns/bank_column.cu,line=" in github(budget="ci/closed.toml", source_root="gpu").stdout


def recorded_words(folder: Path) -> list[str]:
    """The words that the stand-in for ncuview got."""
    return (folder / "words").read_bytes().decode().split("\0")[:-1]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_inputs_reach_ncuview_as_single_words(github: Checked, here: Path, text: str) -> None:
    install(here / "bin", "ncuview", 'printf "%s\\0" "$@" > words')
    for name, word in {
        "budget": f"--budget={text}",
        "baseline": f"--baseline={text}",
        "fail_on": f"--fail-on={text}",
        "folder": f"--output=./{text}/junit.xml",
        "program": text,
    }.items():
        github(**{"budget": "ci/open.toml", name: text})
        assert word in recorded_words(here), name
    github(budget="ci/open.toml", reports=text)
    assert recorded_words(here)[-1 - text.strip().count("\n") :] == [f"./{line}" for line in text.split("\n") if line]
    github(budget="ci/open.toml", allow_missing_baseline=text)
    assert "--allow-missing-baseline" not in recorded_words(here)
    assert not list(here.glob("owned*"))
    assert set((here / "GITHUB_OUTPUT").read_text().splitlines()) == {"exit-code=0"}


def test_installing_takes_the_release_that_the_action_is_a_part_of(here: Path) -> None:
    log = here / "log"
    environment = {"RUNNER_TEMP": str(here / "temp"), "GITHUB_ACTION_PATH": str(ACTION.parent), "LOG": str(log)}
    python = 'mkdir -p "$3/bin"; printf \'#!/bin/bash\\nprintf "%%s\\\\n" "$@" >> "$LOG"\' > "$3/bin/python"'
    install(here / "bin", "python3", f'[ "$1 $2" = "-m venv" ] || exit 99\n{python}; chmod +x "$3/bin/python"')
    environment["GITHUB_PATH"] = str(here / "path")
    for wanted, expected in (("", ROOT), ("$(touch owned)", "$(touch owned)"), ("--help", "--help")):
        log.unlink(missing_ok=True)
        done = run(
            action_step("Install ncuview")["run"],
            here,
            {**given("Install ncuview", {"install": wanted}), **environment},
        )
        assert done.returncode == 0, done.stderr
        *words, last = log.read_text().splitlines()
        assert words == ["-m", "pip", "install", "--"]
        assert Path(last).resolve() == expected if isinstance(expected, Path) else last == expected
    assert not (here / "owned").exists()
    assert action_step("Install ncuview")["if"] == "inputs.install != 'none'"
    assert {*(here / "path").read_text().splitlines()} == {f"{here}/temp/ncuview/bin"}


def test_the_comment_is_posted_once_and_edited_later(here: Path) -> None:
    (step,) = [step for step in steps(content(WORKFLOW)) if step.get("name") == "Comment"]
    install(here / "bin", "gh", 'printf "%s\\n" "$@" > gh-log')
    environment = {"GH_TOKEN": "t", "GH_REPO": "owner/name", "NUMBER": "7"}
    assert step["env"].keys() == environment.keys()
    nothing = run(step["run"], here, environment)
    assert nothing.returncode == 0
    assert not (here / "gh-log").exists()
    (here / "ncuview-report").mkdir()
    (here / "ncuview-report" / "comment.md").write_text("text")
    assert run(step["run"], here, environment).returncode == 0
    words = (here / "gh-log").read_text().splitlines()
    assert words == [
        "pr",
        "comment",
        "7",
        "--edit-last",
        "--create-if-none",
        "--body-file",
        "ncuview-report/comment.md",
    ]


@pytest.mark.parametrize(
    ("variables", "code"),
    [
        ({"baseline": "ci/none.json", "allow_missing_baseline": "true"}, 0),
        ({"budget": "ci/broken.toml"}, 2),
        ({"budget": "ci/open.toml", "reports": "empty"}, 3),
        ({"baseline": "ci/none.json"}, 4),
        ({"program": "true"}, 5),
    ],
    ids=str,
)
def test_the_template_leaves_with_the_gate_s_code(gitlab: Checked, variables: dict[str, str], code: int) -> None:
    done = gitlab(**variables)
    assert done.returncode == code, done.stderr


def test_the_template_installs_nothing_that_was_not_named(gitlab: Checked, here: Path) -> None:
    install(here / "bin", "python3", "touch installed")
    done = gitlab(install="")
    assert done.returncode == 2
    assert "set NCUVIEW_INSTALL to a wheel or a git+https URL at a commit" in done.stderr
    assert not (here / "installed").exists()
    assert content(GITLAB)["variables"]["NCUVIEW_INSTALL"] == ""


def test_the_template_names_lines_below_the_source_root(gitlab: Checked, here: Path) -> None:
    (here / "src").mkdir()
    gitlab(budget="ci/closed.toml", source_root="src")
    found = json.loads((here / "ncuview-report" / "gl-code-quality-report.json").read_text())
    assert {entry["location"]["path"] for entry in found} == {"bank patterns.ncu-repz"}


def test_the_template_writes_what_it_announces(gitlab: Checked, here: Path) -> None:
    assert gitlab(budget="ci/closed.toml").returncode == 1
    announced = content(GITLAB)[".ncuview"]["artifacts"]["reports"]
    assert announced.keys() == {"junit", "codequality", "metrics"}
    assert all((here / file).stat().st_size for file in announced.values())
    assert isinstance(json.loads((here / announced["codequality"]).read_text()), list)
    assert (here / announced["metrics"]).read_text().endswith("# EOF\n")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_variables_reach_ncuview_as_single_words(gitlab: Checked, here: Path, text: str) -> None:
    install(here / "bin", "ncuview", 'printf "%s\\0" "$@" > words')
    for name, word in {
        "budget": f"--budget={text}",
        "baseline": f"--baseline={text}",
        "fail_on": f"--fail-on={text}",
        "program": text,
    }.items():
        gitlab(**{"budget": "ci/open.toml", name: text})
        assert word in recorded_words(here), name
    gitlab(reports=text)
    assert recorded_words(here)[-1 - text.strip().count("\n") :] == [f"./{line}" for line in text.split("\n") if line]
    assert not list(here.glob("owned*"))


def test_the_template_s_jobs_exclude_each_other() -> None:
    jobs = {name: job for name, job in content(GITLAB).items() if name.startswith("ncuview-")}
    assert {name: job["extends"] for name, job in jobs.items()} == {
        "ncuview-stored": ".ncuview",
        "ncuview-live": ".ncuview",
    }
    assert jobs["ncuview-live"]["rules"] == [{"if": "$NCUVIEW_PROGRAM"}]
    assert jobs["ncuview-stored"]["rules"] == [{"if": '$NCUVIEW_PROGRAM == null || $NCUVIEW_PROGRAM == ""'}]
