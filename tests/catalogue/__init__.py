"""Tests of ncuview.catalogue."""
