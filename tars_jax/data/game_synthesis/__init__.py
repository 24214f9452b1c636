"""New games, made and admitted without a person. See README.md."""
