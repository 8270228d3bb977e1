"""Detect in SASS the code that nvcc writes for divisions, powers, precise functions, spills and shared-memory sums.

Also loops around a compare-and-swap. Modules give weights, one number per instruction; most name the compilers and
architectures that the code was seen with.
"""

KNOWN_CAPABILITY = "9.0"
"""The compute capability whose code the fingerprints are of; elsewhere they may see nothing."""
