"""From a report file to a Profile: check the file, read it in a child process, compute what rules ask for."""
