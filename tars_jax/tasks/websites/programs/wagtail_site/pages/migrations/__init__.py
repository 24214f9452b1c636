"""Their tables."""
