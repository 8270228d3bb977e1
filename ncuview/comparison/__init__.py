"""Compare two diagnoses: pair launches, find changed counters, compare predicted with measured gains, find slowdowns.

It also groups launches that repeat each other. In: ``Diagnosis`` and ``LaunchDiagnosis``; out: ``Comparison``.
"""
