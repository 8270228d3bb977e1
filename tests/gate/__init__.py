"""Tests of budgets, baselines and their statistics."""
