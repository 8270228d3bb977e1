"""``ncuview mcp`` driven by the official client, from tests that are no coroutines."""

from __future__ import annotations

import json
import os
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.command_line import ROOT, environment

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from mcp.types import CallToolResult, Tool

UNSAFE = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
"""Categories of characters that move the cursor, or hide or reorder others."""
PATIENCE_S = 240.0
"""How long a test waits for an answer."""


@dataclass(frozen=True)
class Answer:
    """What a tool answered, after the checks that hold for every answer."""

    document: Any
    is_error: bool
    size: int
    """Bytes of the text."""

    @property
    def error(self) -> Any:
        assert self.is_error, self.document
        return self.document["error"]


@dataclass(frozen=True)
class Client:
    """A session with a server."""

    portal: BlockingPortal
    session: ClientSession
    root: Path

    def start(self, tool: str, **arguments: Any) -> Future[Answer]:
        """Call a tool, and do not wait."""
        return self.portal.start_task_soon(self._call, tool, arguments)

    def ask(self, tool: str, **arguments: Any) -> Answer:
        """The answer, which is none of an error."""
        answer = self.start(tool, **arguments).result(PATIENCE_S)
        assert not answer.is_error, answer.document
        return answer

    def error(self, tool: str, **arguments: Any) -> Any:
        """The error that a tool answers with."""
        return self.start(tool, **arguments).result(PATIENCE_S).error

    def tools(self) -> list[Tool]:
        return self.portal.call(self.session.list_tools).tools

    async def _call(self, tool: str, arguments: Mapping[str, Any]) -> Answer:
        return checked(await self.session.call_tool(tool, dict(arguments)))


def checked(result: CallToolResult) -> Answer:
    """Structured content and text are the same, and hold no control character; the client has checked the schema.

    Only patches have tabs, without which they would not apply.
    """
    (content,) = result.content
    assert content.type == "text"
    document = json.loads(content.text)
    assert document == result.structured_content
    tabs = "\t" if document.get("schema") == "ncuview.trial-part/1" else ""
    for text in texts_of(document):
        assert not {unicodedata.category(character) for character in text if character not in tabs} & UNSAFE, ascii(
            text
        )
        assert "Traceback" not in text
    return Answer(document, bool(result.is_error), len(content.text.encode()))


def texts_of(value: Any) -> Iterator[str]:
    """Every text and key in JSON values."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield key
            yield from texts_of(part)
    elif isinstance(value, list):
        for part in value:
            yield from texts_of(part)


@contextmanager
def served(
    *roots: Path, options: Sequence[str] = (), path: Path | None = None, cwd: Path | None = None, **variables: str
) -> Iterator[Client]:
    """A server for these roots, as a process, and a client of it. Its standard error must stay empty."""
    words = [word for root in roots for word in ("--root", str(root))]
    given = environment(variables, path) if path else environment(variables)
    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "ncuview", "mcp", *words, *options], env=given, cwd=cwd or ROOT
    )

    @asynccontextmanager
    async def connected() -> AsyncIterator[ClientSession]:
        with open(os.devnull, "w") as nothing:  # noqa: PTH123, ASYNC230
            async with stdio_client(parameters, errlog=nothing) as streams, ClientSession(*streams) as session:
                await session.initialize()
                yield session

    with start_blocking_portal() as portal, portal.wrap_async_context_manager(connected()) as session:
        yield Client(portal, session, roots[0] if roots else cwd or ROOT)


def processes_below(parent: int) -> dict[int, str]:
    """The processes that a process has started, at any depth, with their command lines."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    found: dict[int, str] = {}
    below = {parent}
    while below := {each for each, its in parents.items() if its in below}:
        for each in below:
            try:
                found[each] = (Path("/proc") / str(each) / "cmdline").read_text().replace("\0", " ")
            except OSError:
                continue
    return found
