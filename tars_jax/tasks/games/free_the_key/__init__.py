"""Free the Key."""
