"""Results of benchmark episodes, in our tables and in the benchmark's own files."""
