"""Rules: their files, what each says of a launch, what is missing, where in the source, what first; the metric plan."""
