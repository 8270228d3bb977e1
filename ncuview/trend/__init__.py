"""Many diagnoses in order: how each kernel's time, wall and advice went over commits, ranks or GPUs."""
