"""``ncuview mcp``: a server of the Model Context Protocol over standard input and output, for agents."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Annotated

import typer

from ncuview.base.errors import ToolError
from ncuview.cli.inputs import RulesOption, option


def mcp(
    root: Annotated[
        list[Path] | None,
        option("A folder that files are read from. Default: this one. Repeatable.", "--root", value="DIR"),
    ] = None,
    allow_run: Annotated[
        bool, typer.Option("--allow-run", help="Let the client start any program, to profile or to change it.")
    ] = False,
    rules: RulesOption = None,
) -> None:
    """Serve agents: profiles, findings and comparisons as tools of MCP, over standard input and output."""
    from ncuview.mcp_server.roots import Roots
    from ncuview.mcp_server.settings import Settings

    gc.disable()  # all that is made on the way to the first request stays, and looking for garbage takes a tenth of it
    try:
        from ncuview.mcp_server.server import serve
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in _NEEDED:
            raise
        raise ToolError("the server needs the package mcp, version 2", hint="pip install 'ncuview[mcp]'") from error
    folders = Roots.of(root or [Path.cwd()]).folders
    settings = Settings(tuple(map(str, folders)), tuple(str(each.resolve()) for each in rules or ()), allow_run)
    serve(settings)


_NEEDED = {"mcp", "anyio"}
