"""Hex FRVR."""
