"""Maze: Path of Light."""
