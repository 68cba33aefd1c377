"""Routers of connections: who goes in which phase, over which route; one router per file, `table` lists them."""
