"""Tests of the stage that turns report files into profiles."""
