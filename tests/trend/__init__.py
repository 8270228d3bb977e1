"""Tests of ncuview.trend."""
