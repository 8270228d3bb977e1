"""Tests of ncuview.testing."""
