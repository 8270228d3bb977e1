"""Tests of ncuview.engine."""
