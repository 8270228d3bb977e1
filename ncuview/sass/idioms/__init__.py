"""Idioms: the code that compilers write for divisions, powers, precise functions, spills and updates.

Each module names the compilers and architectures that it was seen with.
"""

KNOWN_CAPABILITY = "9.0"
"""The compute capability whose code the fingerprints are of; elsewhere they may see nothing."""
