"""A person's own X screen: XRECORD tells what hands do, the tree of windows what may be seen, mss takes the pictures.

Needs the extra `record`: python-xlib and mss.
"""
