"""Ahead-of-time planning for TPU pods: updates and decode steps compiled for a slice, their memory and their time."""
