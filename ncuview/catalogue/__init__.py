"""The catalogue of CUDA kernels that ships: find, compile, launch, time and profile them, and check their results.

It reads kernel files, recorded profiles and machine code, runs nvcc and the launcher, and also takes users' .cu files.
"""
