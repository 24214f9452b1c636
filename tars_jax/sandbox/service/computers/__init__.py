"""Computers as a kind of session of the service. See README.md one folder up."""
