"""Helpers that every package may import: errors, file access, paths, secret masking, TOML, expressions of rules.

Exit codes, atomic writing, checksums of reports, shipped and user paths, TOML within limits, speedups as text.
The package imports nothing else of ncuview.
"""
