"""Budgets and baselines: from a diagnosis to checks that pass, fail, or say that they cannot tell."""
