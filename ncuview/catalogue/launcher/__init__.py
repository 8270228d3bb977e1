"""The child process that launches catalogue kernels: the only modules that import PyCUDA."""
