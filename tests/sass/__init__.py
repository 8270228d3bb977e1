"""Tests of ncuview.sass."""
