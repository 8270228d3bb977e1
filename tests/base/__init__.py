"""Tests of ncuview.base."""
