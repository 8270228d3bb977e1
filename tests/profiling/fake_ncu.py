#!/usr/bin/env python3
"""A stand-in for ncu: replays the scenario of a JSON file, and refuses loudly what ncuview must never ask of ncu.

``FAKE_NCU`` names the file. Its keys, all optional:

``say``            pieces to print, in order: [stream ("stdout" or "stderr"), text]; none ends with a newline of its own
``flood_bytes``    how much to print to stdout before the last piece
``report``         whether the file of ``--export`` is written, and said
``content``        a file with what a report holds
``ranks``          values of the variable RANK: the file of ``--export`` is written for each, as by several ncu
``cuts``           the one of these ranks whose report is cut
``makes``          files to copy meanwhile: from -> to
``notes_mode``     a file for the permissions of the report's folder
``then``           the scenario of the next run; without it, every run plays this one
``words``          a file that the arguments of each run are appended to, one JSON list a line
``returncode``     the exit status
``child``          a file for the process ids of this process and of a child, which outlives it
``leaves``         that child is the child of one that has ended, in a session of its own
``deaf``           both ignore SIGINT and SIGTERM
``saves``          SIGINT has it write the report and leave with 9, as ncu does that was at work
``floods_when_asked``  SIGINT has it print more than a pipe holds, then make this file, and leave with 9
``tracker``        a file in the folder for temporary files, which only a good end removes
``dies``           it is killed after the last piece
``sleep_s``        how long to stay after the last piece
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NoReturn

OPTIONS = {
    "config-file": "off",
    "target-processes": "all",
    "apply-rules": "no",
    "import-source": "yes|no",
    "clock-control": "none|base",
    "cache-control": "all|none",
    "metrics": r"[\w.:]+(,[\w.:]+)*",
    "export": r"/.+\.ncu-rep",
}
OPTIONAL = {
    "app-replay-match": "grid|name|all",
    "filter-mode": "per-launch-config",
    "kernel-id": "::.+:.+",
    "kernel-name": ".+",
    "kernel-name-base": "demangled",
    "kill": "yes",
    "launch-count": r"[1-9]\d*",
    "launch-skip": r"[1-9]\d*",
    "nvtx-include": ".+",
    "call-stack-type": "native|python",
    "profile-from-start": "no",
}
REPEATABLE = {"nvtx-include", "call-stack-type"}
FLAGS = {"--nvtx", "--call-stack"}

LINGER = "import os, signal, time; {leave} {ignore} print(os.getpid(), flush=True); time.sleep(600)"
LEAVE = "os.fork() and os._exit(0); os.setsid();"
IGNORE = "signal.signal(signal.SIGINT, signal.SIG_IGN); signal.signal(signal.SIGTERM, signal.SIG_IGN);"


def refuse(what: str) -> NoReturn:
    sys.stderr.write(f"fake ncu: {what}\n")
    sys.exit(99)


def parsed(words: list[str]) -> dict[str, str]:
    known = OPTIONS | OPTIONAL
    options: dict[str, str] = {}
    while words and words[0].startswith("-"):
        word = words.pop(0)
        if word in FLAGS:
            continue
        option = re.fullmatch(r"--([a-z-]+)=(.*)", word, re.DOTALL)
        if option is None or option[1] not in known:
            refuse(f"unexpected argument {word}")
        name, value = option.groups()
        if name in options and name not in REPEATABLE:
            refuse(f"option '--{name}' cannot be specified more than once")
        if not re.fullmatch(known[name], value, re.DOTALL):
            refuse(f"unexpected value of --{name}: {value}")
        options[name] = value
    if missing := OPTIONS.keys() - options.keys():
        refuse(f"no option {sorted(missing)}")
    if not words or not Path(words[0]).is_absolute():
        refuse(f"no absolute program but {words}")
    return options


def expanded(name: str, rank: str) -> Path:
    """A file name with ncu's macros replaced; those that no test uses are refused."""
    values = {"%%": "%", "%p": str(os.getpid()), "%q{RANK}": rank}
    return Path(re.sub(r"%(?:q\{\w+\}|.)", lambda macro: values[macro[0]], name))


def check_surroundings() -> None:
    if os.environ.get("NV_COMPUTE_PROFILER_DISABLE_STOCK_FILE_DEPLOYMENT") != "1":
        refuse("files may be deployed into the home folder")
    if os.fstat(0).st_rdev != Path(os.devnull).stat().st_rdev:
        refuse("standard input is open")
    if os.getpgrp() != os.getpid():
        refuse("not the leader of a process group")


def say(stream: str, text: str) -> None:
    os.write({"stdout": 1, "stderr": 2}[stream], text.encode())


def flood(size: int) -> None:
    line = b"=" * 99 + b"\n"
    for _ in range(size // 100_000):
        os.write(1, line * 1000)


def scenario_of_this_run() -> dict[str, Any]:
    file = Path(os.environ["FAKE_NCU"])
    scenario: dict[str, Any] = json.loads(file.read_text())
    if "then" in scenario:
        file.write_text(json.dumps(scenario["then"]))
    if "words" in scenario:
        with Path(scenario["words"]).open("a") as words:
            words.write(json.dumps(sys.argv[1:]) + "\n")
    return scenario


def start_child(scenario: dict[str, Any], ignore: str) -> None:
    """Start a process that outlives this one, and say both numbers once it is ready."""
    code = LINGER.format(ignore=ignore, leave=LEAVE if scenario.get("leaves") else "")
    child = subprocess.Popen([sys.executable, "-I", "-S", "-c", code], stdout=subprocess.PIPE)
    assert child.stdout
    number = int(child.stdout.readline())
    ready = Path(scenario["child"] + ".part")
    ready.write_text(f"{os.getpid()} {number}")
    ready.rename(scenario["child"])


def play_requests(scenario: dict[str, Any], reports: list[Path]) -> None:
    """Do what the scenario says when SIGINT comes."""

    def save(*_: object) -> None:
        write_reports(scenario, reports)
        os._exit(9)

    def talk(*_: object) -> None:
        flood(1 << 21)
        Path(scenario["floods_when_asked"]).touch()
        os._exit(9)

    if scenario.get("deaf"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if scenario.get("saves"):
        signal.signal(signal.SIGINT, save)
    if scenario.get("floods_when_asked"):
        signal.signal(signal.SIGINT, talk)


def write_reports(scenario: dict[str, Any], reports: list[Path]) -> None:
    if "notes_mode" in scenario:
        Path(scenario["notes_mode"]).write_text(f"{reports[0].parent.stat().st_mode & 0o777:o}")
    for source, target in scenario.get("makes", {}).items():
        shutil.copyfile(source, target)
    for rank, report in zip(scenario.get("ranks", [""]), reports, strict=False):
        data = Path(scenario["content"]).read_bytes()
        report.write_bytes(data[:-40] if rank and rank == scenario.get("cuts") else data)
        if scenario.get("report"):
            say("stdout", f"==PROF== Report: {report}\n")


def main() -> None:
    if sys.argv[1:] == ["--clock-control=reset"]:
        scenario_of_this_run()
        return
    options = parsed(sys.argv[1:])
    check_surroundings()
    scenario = scenario_of_this_run()
    ranks = scenario.get("ranks", [os.environ.get("RANK", "")] if scenario.get("report") else [])
    reports = [expanded(options["export"], rank) for rank in ranks]
    if existing := [report for report in reports if report.exists()]:
        refuse(f"{existing} exist")
    tracker = Path(os.environ.get("TMPDIR") or "/tmp") / f"NVIDIA-treetracker-{os.getpid()}"
    if scenario.get("tracker"):
        tracker.touch()
    play_requests(scenario, reports)
    *first, last = scenario.get("say") or [["stdout", ""]]
    for stream, text in first:
        say(stream, text)
    flood(scenario.get("flood_bytes", 0))
    say(*last)
    if "child" in scenario:
        start_child(scenario, IGNORE if scenario.get("deaf") else "")
    if scenario.get("dies"):
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(scenario.get("sleep_s", 0))
    write_reports(scenario, reports)
    tracker.unlink(missing_ok=True)
    sys.exit(scenario.get("returncode", 0))


if __name__ == "__main__":
    main()
