"""Rollouts: episodes played ahead of the learner, and the durable pool that hands them over."""
