"""MiniWoB++: small web tasks, from the `miniwob` package."""
