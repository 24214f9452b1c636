"""SWE-bench's issues as episodes: a repository at its commit, a patch, tests, and the official package's grades."""
