"""The program that runs inside a computer, in front of everything else there: processes, terminals, files, streams.

It is started by its folder, wherever that is mounted, and takes nothing but Python's own library (see __main__.py).
"""
