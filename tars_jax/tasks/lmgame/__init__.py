"""LMGame-Bench: games that measure language models, as pages that are played by GUI actions."""
