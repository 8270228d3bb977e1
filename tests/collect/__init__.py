"""Tests of the stage that makes reports."""
