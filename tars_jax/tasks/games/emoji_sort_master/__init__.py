"""Emoji Sort Master."""
