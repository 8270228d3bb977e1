"""Tests of ncuview.catalogue.launcher."""
