"""Tests of what people and other tools get to read."""
