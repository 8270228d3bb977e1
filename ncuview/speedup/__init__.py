"""Predict speedups by the what-if model of unit use and latency, and look up or measure what a GPU attains.

Modules: ``model``, ``effects``, ``end_to_end`` (with host copies), ``attainable`` (tables) and ``calibrate``.
"""
