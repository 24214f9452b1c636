"""Where tasks and training data come from. See README.md."""
