"""Tests of ncuview.reader."""
