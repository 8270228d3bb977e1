"""The child process that launches compiled kernels with PyCUDA on seeded inputs, and checks and times them.

It times host copies too. Only the modules of this package import PyCUDA; jobs and results are JSON files.
"""
