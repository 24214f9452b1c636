"""Paths of the service and its application."""
