"""What episodes of a benchmark came to, in our tables and in its own files."""
