"""Routers of connections: who goes in which phase, over which route.

One router per file, `table` lists them.
"""
