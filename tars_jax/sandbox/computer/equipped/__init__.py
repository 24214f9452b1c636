"""Computers with their parts: what an episode acts on, on this machine or on another."""
