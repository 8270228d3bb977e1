"""Tests of ncuview.comparison."""
