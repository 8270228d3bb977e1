"""Tests of ncuview.profiling."""
