"""Tests of ncuview.trends."""
