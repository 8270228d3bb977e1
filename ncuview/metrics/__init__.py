"""Compute numbers per launch from a ``Profile``: quantities for rules, textbook metrics, theoretical occupancy.

``Analysis`` holds one profile with what was computed of it; ``units`` lists what can be a bottleneck.
"""
