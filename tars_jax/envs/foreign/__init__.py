"""Environments of other packages, which have needs that ours cannot share: each package in a Python of its own."""
