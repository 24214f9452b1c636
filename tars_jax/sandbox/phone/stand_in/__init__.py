"""A simulated phone behind a real ADB device daemon, for machines without Android. See README.md one folder up."""
