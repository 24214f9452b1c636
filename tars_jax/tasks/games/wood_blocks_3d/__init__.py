"""Wood Blocks 3D."""
