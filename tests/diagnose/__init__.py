"""Tests of the stage that judges launches and promises gains."""
