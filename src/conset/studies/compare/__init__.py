"""Many compiles beside each other.

Rows of methods, the contention curve of a complete exchange, the regions map.
"""
