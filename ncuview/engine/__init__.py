"""The rule engine: evaluates rule files on a profile and returns a diagnosis, findings ranked and source lines named.

It also computes which metrics ncu must collect for the rules, and what machine code alone shows of a kernel.
"""
