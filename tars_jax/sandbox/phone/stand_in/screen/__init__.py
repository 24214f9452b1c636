"""Screens of the stand-in: widgets, their layout, a canvas."""
