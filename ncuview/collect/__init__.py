"""From a kernel's name to a report file: compile, launch, check, profile. The only stage that needs a GPU."""
