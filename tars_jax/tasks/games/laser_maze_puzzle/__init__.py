"""Laser Maze Puzzle."""
