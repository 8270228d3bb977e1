"""``ncuview mcp``: an MCP server over standard input and output, with which agents read profiles.

A client's requests enter, bounded answers leave. ``server`` speaks the protocol, with the official SDK; ``arguments``
are the arguments of each tool. The work is done in child processes (``workers``, ``worker``), each of which may read
files below the roots only (``roots``): the server answers while they work, and ends one whose request is cancelled.
``answers`` calls what the command line calls; ``changes``, ``trial_parts`` and ``stores`` make bounded parts of what it
gets. No rule, format or limit of an answer is known here.
"""
