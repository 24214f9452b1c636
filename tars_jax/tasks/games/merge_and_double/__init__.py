"""Merge and Double."""
