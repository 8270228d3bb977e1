"""Run the steps of each command, from its input to its result: profile or read, diagnose, compare, gate, calibrate.

The packages below do the work; nothing here is shown: ``render`` makes the pages.
"""
