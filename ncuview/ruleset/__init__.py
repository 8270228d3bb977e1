"""The language that rule and kernel files are written in: data, never code."""
