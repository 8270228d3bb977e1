"""ncu's options: one word each, contradictions refused, and options that ncuview gives itself refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ncuview.base.errors import UsageError
from ncuview.profiling.options import (
    OPTIONS,
    AppReplayMode,
    CacheControl,
    CallStacks,
    ClockControl,
    FilterMode,
    GraphProfiling,
    KernelNameBase,
    NcuOptions,
    PipelineBoostState,
    ReplayMode,
    TargetProcesses,
)

ALWAYS = [
    "--config-file=off",
    "--apply-rules=no",
    "--target-processes=all",
    "--cache-control=all",
    "--clock-control=none",
    "--import-source=yes",
]
HERE = Path(__file__).parent


def test_without_a_choice_only_what_ncuview_always_says() -> None:
    assert NcuOptions().argv() == ALWAYS
    assert NcuOptions().chosen_by() == ()


EVERY: list[tuple[dict[str, Any], list[str]]] = [
    ({"kernel_name": "regex:a b"}, ["--kernel-name=regex:a b"]),
    (
        {"kernel_name": "f<int>", "kernel_name_base": KernelNameBase.DEMANGLED},
        ["--kernel-name=f<int>", "--kernel-name-base=demangled"],
    ),
    ({"kernel_id": "::f:2"}, ["--kernel-id=::f:2"]),
    ({"launch_skip": 3}, ["--launch-skip=3"]),
    ({"launch_skip_before_match": 4}, ["--launch-skip-before-match=4"]),
    ({"launch_count": 5}, ["--launch-count=5"]),
    ({"launch_count": 5, "kill": True}, ["--launch-count=5", "--kill=yes"]),
    ({"filter_mode": FilterMode.PER_GPU}, ["--filter-mode=per-gpu"]),
    ({"nvtx": True}, ["--nvtx"]),
    ({"nvtx_include": ("a/", "b")}, ["--nvtx", "--nvtx-include=a/", "--nvtx-include=b"]),
    ({"nvtx_exclude": ("c",)}, ["--nvtx", "--nvtx-exclude=c"]),
    ({"range_filter": ":[1-3]:"}, ["--range-filter=:[1-3]:"]),
    ({"devices": (0, 2)}, ["--devices=0,2"]),
    ({"target_processes": TargetProcesses.APPLICATION_ONLY}, ["--target-processes=application-only"]),
    ({"target_processes_filter": ("app", "exclude:sh")}, ["--target-processes-filter=app,exclude:sh"]),
    (
        {"replay_mode": ReplayMode.APPLICATION, "app_replay_mode": AppReplayMode.RELAXED},
        ["--replay-mode=application", "--app-replay-mode=relaxed"],
    ),
    ({"replay_mode": ReplayMode.RANGE}, ["--replay-mode=range"]),
    ({"cache_control": CacheControl.NONE}, ["--cache-control=none"]),
    ({"clock_control": ClockControl.BASE}, ["--clock-control=base"]),
    ({"pipeline_boost_state": PipelineBoostState.DYNAMIC}, ["--pipeline-boost-state=dynamic"]),
    ({"import_source": False}, ["--import-source=no"]),
    ({"source_folders": (HERE,)}, [f"--source-folders={HERE}"]),
    ({"profile_from_start": False}, ["--profile-from-start=no"]),
    (
        {"call_stack": CallStacks.ALL},
        ["--call-stack", "--call-stack-type=native", "--call-stack-type=python"],
    ),
    ({"graph_profiling": GraphProfiling.GRAPH}, ["--graph-profiling=graph"]),
    ({"no_hook": True}, []),
    ({"no_bare_run": True}, []),
    (
        {"ncu_args": "--app-replay-match grid --verbose --pm-sampling-interval='1 0'"},
        ["--app-replay-match=grid", "--verbose", "--pm-sampling-interval=1 0"],
    ),
]


@pytest.mark.parametrize(("given", "words"), EVERY, ids=lambda value: str(value)[:40])
def test_each_option_becomes_ncu_s(given: dict[str, Any], words: list[str]) -> None:
    argv = NcuOptions(**given).argv()
    assert [word for word in argv if word not in ALWAYS] == words


def test_every_option_is_tried() -> None:
    tried = {name for given, _ in EVERY for name in given}
    assert tried == {field.name for field in dataclasses.fields(NcuOptions)}


def test_call_stacks_may_be_of_one_kind_or_left_out() -> None:
    assert "--call-stack-type=native" not in NcuOptions(call_stack=CallStacks.PYTHON).argv()
    assert not any(word.startswith("--call-stack") for word in NcuOptions(call_stack=CallStacks.NONE).argv())


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"launch_skip": -1}, "counted from 0"),
        ({"devices": (0, -1)}, "counted from 0"),
        ({"launch_count": 0}, "--launch-count 0 would profile nothing"),
        ({"launch_count": -1}, "--launch-count -1 would profile nothing"),
        ({"kill": True}, "--kill"),
        ({"kernel_name_base": KernelNameBase.MANGLED}, "--kernel-name-base"),
        ({"kernel_id": "saxpy"}, "no --kernel-id"),
        ({"range_filter": "1-3"}, "no --range-filter"),
        ({"range_filter": "::2"}, "--nvtx-include names none"),
        (
            {"target_processes": TargetProcesses.APPLICATION_ONLY, "target_processes_filter": ("app",)},
            "--target-processes-filter",
        ),
        ({"app_replay_mode": AppReplayMode.STRICT}, "--app-replay-mode"),
        ({"app_replay_mode": AppReplayMode.STRICT, "replay_mode": ReplayMode.RANGE}, "--app-replay-mode"),
        ({"import_source": False, "source_folders": (HERE,)}, "--source-folders"),
        ({"source_folders": (HERE, HERE / "none")}, "none is no folder"),
        ({"cache_control": "sometimes"}, "cache_control is 'sometimes'"),
        ({"cache_control": None}, "cache_control is None"),
        ({"launch_skip": "3"}, "launch_skip is '3', no int"),
        ({"launch_count": True}, "launch_count is True, no int"),
        ({"import_source": "no"}, "import_source is 'no', no bool"),
        ({"kernel_name": 3}, "kernel_name is 3, no str"),
        ({"nvtx_include": "range"}, "nvtx_include is 'range', no list"),
        ({"devices": 0}, "devices is 0, no list"),
        ({"devices": ["0"]}, "devices is '0', no int"),
        ({"source_folders": [1]}, "source_folders is 1, no Path"),
    ],
)
def test_what_does_not_go_together_or_has_another_type_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as refusal:
        NcuOptions(**given)
    assert refusal.value.hint


def test_words_lists_and_names_of_folders_are_taken_as_python_writes_them() -> None:
    words: dict[str, Any] = {"cache_control": "none", "nvtx_include": ["a", "b"], "source_folders": [str(HERE)]}
    options = NcuOptions(**words)
    assert options.cache_control is CacheControl.NONE
    assert options == NcuOptions(
        cache_control=CacheControl.NONE, nvtx_include=("a", "b"), source_folders=(HERE,), launch_count=None
    )
    assert hash(options) == hash(NcuOptions(**words))


def test_every_row_of_the_table_says_what_it_does() -> None:
    assert all(option.row.help for option in OPTIONS)
    flags = [name for option in OPTIONS for name in (f"--{option.flag}", *option.row.also)]
    assert len(flags) == len(set(flags))


def test_a_source_folder_with_a_comma_would_be_two(tmp_path: Path) -> None:
    folder = tmp_path / "a,b"
    folder.mkdir()
    with pytest.raises(UsageError, match="comma"):
        NcuOptions(source_folders=(folder,))


@pytest.mark.parametrize(
    "args",
    [
        "--export=/elsewhere",
        "--exp /elsewhere",
        "-o /elsewhere",
        "-f",
        "--force-overwrite",
        "--import x.ncu-rep",
        "--metrics=a",
        "--injection-path-64=/evil.so",
        "--injection-path-32 /evil.so",
        "--inj=/evil.so",
        "--preload-library=/evil.so",
        "--section-folder=/evil",
        "--section-folder-recursive=/evil",
        "--section-fold=/evil",
        "--config-file-path=/evil.cfg",
        "--conf=on",
        "--log=x",
        "--list-sets",
        "--query-metrics",
        "--config-file=on",
        "--log-file x",
        "--quiet",
        "--mode=launch",
        "--kernel-name=x",
        "--kernel-n=x",
        "--nvtx",
        "--launch-count 3",
        "app",
        "--verbose=1 app",
        "--",
        "--=x",
        "-",
        "--set full 'x",
        "",
    ],
)
def test_what_would_take_the_report_or_the_program_away_is_not_passed_on(args: str) -> None:
    if not args:
        assert NcuOptions(ncu_args=args).argv() == ALWAYS
        return
    with pytest.raises(UsageError, match="--ncu-args") as refusal:
        NcuOptions(ncu_args=args)
    assert refusal.value.hint


def test_sections_may_be_asked_for() -> None:
    assert NcuOptions(ncu_args="--section Occupancy").argv()[-1] == "--section=Occupancy"


@given(st.text())
def test_no_word_of_ncu_args_can_be_taken_for_the_program(args: str) -> None:
    try:
        argv = NcuOptions(ncu_args=args).argv()
    except UsageError:
        return
    assert all(word.startswith("--") and len(word) > 2 for word in argv)


@given(st.lists(st.sampled_from(["full", "--set", "--verbose", "--section", "--export", "=", "a=b", "-k"])))
def test_options_that_ncuview_gives_are_given_once(words: list[str]) -> None:
    try:
        argv = NcuOptions(ncu_args=" ".join(words)).argv()
    except UsageError:
        return
    names = [word.partition("=")[0] for word in argv]
    assert all(names.count(always.partition("=")[0]) == 1 for always in ALWAYS)
    assert "--export" not in names


def test_the_options_that_leave_launches_out_are_named_as_they_are_typed() -> None:
    chosen = NcuOptions(
        kernel_name="f", launch_skip=1, nvtx_include=("r",), profile_from_start=False, clock_control=ClockControl.BASE
    ).chosen_by()
    assert chosen == ("--kernel-name", "--launch-skip", "--nvtx-include", "--profile-from-start")
