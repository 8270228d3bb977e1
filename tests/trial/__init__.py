"""Tests of trials of changes."""
