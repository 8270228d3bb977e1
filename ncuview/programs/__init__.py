"""Rules over the sequence of launches of a program: what to change at which call, and the kernel time that it saves.

In: ``CallStack`` of a launch and ``ProgramLaunch``; out: ``Call`` and ``ProgramFinding``.
"""
