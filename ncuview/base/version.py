"""The version of ncuview, as pyproject.toml has it too."""

VERSION = "0.1.0"
