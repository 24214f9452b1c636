"""Pods without a pod: updates and decode steps compiled ahead of time for a TPU slice, and what that says of them."""
