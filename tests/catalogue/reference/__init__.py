"""Tests of ncuview.catalogue.reference."""
