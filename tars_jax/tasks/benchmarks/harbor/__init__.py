"""Task folders of Harbor, schema 1.4: what they say, and what of it a computer without containers can have."""
