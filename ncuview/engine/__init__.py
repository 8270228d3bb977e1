"""The rule engine: judges the launches of a ``Profile`` by rule files and returns a ``Diagnosis`` with ranked findings.

It also plans the metrics that ncu must collect for rules, and lists what machine code alone shows of a kernel.
"""
