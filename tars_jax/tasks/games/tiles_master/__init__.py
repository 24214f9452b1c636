"""Tiles Master."""
