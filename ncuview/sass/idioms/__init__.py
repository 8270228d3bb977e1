"""Idioms: the code that compilers write for divisions, powers, precise functions, spills and updates.

Each module names the compilers and architectures that it was seen with.
"""
