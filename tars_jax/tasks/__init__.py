"""Tasks: what an agent is asked to do, and how it is verified."""
