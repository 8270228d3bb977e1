"""Errors, files, paths, masking, bounded TOML and the arithmetic of rule files: what every package may use.

It imports nothing else of ncuview.
"""
