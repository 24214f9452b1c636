"""A page on which a person looks at each step of a recording and mends it; each change is on the disk at once."""
