"""Tests of ncuview.speedup."""
