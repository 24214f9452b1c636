"""One config file per experiment: `get_config()`, and a docstring that says command, time and expected result."""
