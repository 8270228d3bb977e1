"""The version of ncuview as the constant ``VERSION``, the same as in pyproject.toml."""

VERSION = "0.1.0"
