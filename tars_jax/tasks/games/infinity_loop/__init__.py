"""Infinity-Loop."""
