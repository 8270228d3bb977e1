"""The child process that launches compiled kernels with PyCUDA on seeded inputs, and checks and times them.

Jobs and results are JSON files (``__main__``). Host copies are timed too. Only this package imports PyCUDA.
"""
