"""Tests of the language that rule files are written in, and of the rules that ship."""
