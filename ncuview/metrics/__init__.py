"""Quantities of a launch, computed from a profile's metrics and its machine code; textbook names; units of the GPU."""
