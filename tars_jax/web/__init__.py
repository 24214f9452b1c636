"""Common parts of our HTTP servers. See README.md."""
