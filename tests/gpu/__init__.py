"""Tests that launch kernels: they need a GPU, ncu, nvcc and PyCUDA, and compare with ranges."""
