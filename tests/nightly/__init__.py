"""Tests that take long and guard what breaks seldom: the labelled programs, and more cases of what the others test.

.venv/bin/python -m pytest -q -n auto tests/nightly
"""
