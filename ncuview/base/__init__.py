"""Helpers that every package may import: errors, file access, paths, secret masking, TOML, expressions of rules.

They import nothing else of ncuview. Also users' patterns, the finding, opening and checksums of reports, the operating
system, plugins of other packages, speedups and times as text.
"""
