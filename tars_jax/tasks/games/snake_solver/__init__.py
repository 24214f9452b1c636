"""Snake Solver."""
