"""The process that makes containers as root. It runs as a program of its own and imports the standard library alone."""
