"""Tests of ncuview.patch."""
