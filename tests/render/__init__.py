"""Tests of the output formats."""
