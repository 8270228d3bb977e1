"""Reports of several versions and options of ncu: what ncuview says of each."""
