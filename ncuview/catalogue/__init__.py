"""The catalogue of CUDA kernels that ships: find, compile, launch, time and profile them, and check their results.

Kernel files, recorded profiles, NumPy oracles, nvcc, machine code, the launching child process; also users' .cu files.
"""
