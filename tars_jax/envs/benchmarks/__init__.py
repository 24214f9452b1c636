"""Benchmarks of others as environments."""
