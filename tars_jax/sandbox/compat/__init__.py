"""APIs of others over a computer, so that their unmodified clients drive it. See README.md."""
