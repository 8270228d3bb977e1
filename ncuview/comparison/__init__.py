"""Two diagnoses set beside each other: pairs of launches, counters that changed, predictions against measurements."""
