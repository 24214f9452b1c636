"""Benchmarks of others: their tasks, read from the files that they publish."""
