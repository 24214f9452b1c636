"""Computers: sessions with a file system, processes and a network of their own, and what runs in them."""
