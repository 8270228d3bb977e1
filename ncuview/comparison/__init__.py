"""Compare diagnoses: pair launches, find changed counters, set predicted beside measured gains, detect slowdowns."""
