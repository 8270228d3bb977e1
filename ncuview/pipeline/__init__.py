"""The steps of each command, from its input to its result: profile or read, diagnose, compare, gate, calibrate.

They call the packages that do each step and return records, such as ``Diagnosis`` or ``Gate``; ``render`` shows them.
"""
