"""Tests of ncuview.pipeline."""
