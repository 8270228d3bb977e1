"""ncuview opens no network connection: it imports no networking module, and a diagnosis makes no such socket."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import ncuview
from tests.together import together

PACKAGE = Path(ncuview.__file__).parent
SOURCES = sorted(PACKAGE.rglob("*.py"))
MODULES = {
    *("aiohttp", "asyncio", "ftplib", "grpc", "http", "httpx", "imaplib", "nntplib", "paramiko", "poplib", "requests"),
    *(
        "smtplib",
        "socket",
        "socketserver",
        "ssl",
        "telnetlib",
        "urllib",
        "urllib3",
        "webbrowser",
        "websockets",
        "xmlrpc",
    ),
}
LOCAL = {
    "reader/child.py": {"socket"},
    "reader/task.py": {"socket"},
    "store/opened.py": {"connect"},
    "store/sums.py": {"connect"},
}
"""A pair of sockets between two processes of ncuview, which takes descriptors of files from one to the other; and
DuckDB's connections to databases in this process."""
REACH_OUT = {"bind", "connect", "connect_ex", "create_connection", "create_server", "getaddrinfo", "listen", "sendto"}


def network_in(source: Path) -> set[str]:
    """Networking modules that a file imports, and calls that reach another machine."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                found |= {alias.name.partition(".")[0] for alias in names if alias.name != "urllib.parse"}
            case ast.ImportFrom(module=str(module)) if module != "urllib.parse":
                found.add(module.partition(".")[0])
            case ast.Call(func=ast.Attribute(attr=name)) if name in REACH_OUT:
                found.add(name)
            case _:
                pass
    return found & (MODULES | REACH_OUT)


@together("source", SOURCES, name=lambda path: str(path.relative_to(PACKAGE)))
def test_no_source_imports_a_networking_module(source: Path) -> None:
    assert network_in(source) == LOCAL.get(source.relative_to(PACKAGE).as_posix(), set())


def test_the_scan_sees_what_it_looks_for(tmp_path: Path) -> None:
    source = tmp_path / "bad.py"
    source.write_text("import http.client\nfrom urllib import request\nimport urllib.parse, ssl\ns.connect(a)\n")
    assert network_in(source) == {"http", "urllib", "ssl", "connect"}


GUARD = """
import os, sys

def hook(event, arguments):
    network = event == "socket.__new__" and arguments[1] not in (1, -1)  # AF_UNIX, or a descriptor that is there
    if network or event in {"socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname",
                            "socket.sendto", "urllib.Request", "webbrowser.open"}:
        os.write(2, f"{event} {arguments}".encode())
        os._exit(97)

if "NO_NETWORK" in os.environ:
    sys.addaudithook(hook)
"""
DIAGNOSE = """
import sys
import ncuview.reader.child as child
folder = sys.argv.pop(1)
def environment(modules, made=child.environment_of):
    found = made(modules)
    return {**found, "PYTHONPATH": folder + ":" + found["PYTHONPATH"], "NO_NETWORK": "1"}
child.environment_of = environment
from ncuview.cli import main
main()
"""


def guarded(folder: Path, program: str, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a Python that ends at the first step to a network, and so do its child processes."""
    (folder / "sitecustomize.py").write_text(GUARD)
    paths = [str(folder), str(PACKAGE.parent)]
    return subprocess.run(
        [sys.executable, "-P", "-c", program, *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "NO_NETWORK": "1", "XDG_CONFIG_HOME": str(folder)},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_recorded_kernel_is_diagnosed_and_its_page_written_without_a_network(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    words = ["analyze", "transposeCoalesced", "--recorded", "--format", "json", "--output", str(page)]
    ended = guarded(tmp_path, DIAGNOSE, str(tmp_path), *words)
    assert (ended.returncode, ended.stderr) == (0, f"{page}: written\n")
    assert json.loads(ended.stdout)["launches"]
    assert page.stat().st_size


@pytest.mark.parametrize("program", ["socket.socket()", "socket.create_connection(('localhost', 9), 1)"])
def test_the_guard_sees_what_it_looks_for(program: str, tmp_path: Path) -> None:
    ended = guarded(tmp_path, f"import socket\n{program}\n")
    assert ended.returncode == 97, ended.stderr


@pytest.mark.checkout
@pytest.mark.parametrize("page", ["README.md", "SECURITY.md", "docs/how-to/install.md"])
def test_pages_say_so(page: str) -> None:
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    assert "ncuview sends no telemetry and opens no network connection, but to a" in " ".join(text.split())
