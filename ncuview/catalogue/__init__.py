"""The catalogue of CUDA kernels that ships: find, compile, launch and profile them, and check their results.

Kernel files, recorded profiles, NumPy oracles, nvcc, and the child process that launches; also for users' .cu files.
"""
