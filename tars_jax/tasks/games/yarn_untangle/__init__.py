"""Yarn Untangle."""
