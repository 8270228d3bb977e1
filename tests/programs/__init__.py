"""Tests of ncuview.metrics."""
