"""Weights that recognise code patterns of nvcc in a ``Code``: divisions, powers, precise functions, spills and others.

Each module covers one idiom; most name the compilers and architectures that the pattern was seen with.
"""

KNOWN_CAPABILITY = "9.0"
"""The compute capability that the patterns were taken from; on others they may match nothing."""
