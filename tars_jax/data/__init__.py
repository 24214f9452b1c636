"""Sources of tasks and training data. See README.md."""
