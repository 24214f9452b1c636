"""Candy Crush."""
