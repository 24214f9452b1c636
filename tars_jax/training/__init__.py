"""Training: packing, train state, the supervised, value and PPO updates, checkpoints, metrics."""
