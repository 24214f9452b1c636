"""Environments of other packages, which have needs that ours cannot share: played in a Python of their own."""
