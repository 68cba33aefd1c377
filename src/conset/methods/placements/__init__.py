"""Where ranks live: `place(name or file, pattern=…, topology=…)` gives the node of each rank."""

from conset.methods.placements.place import AUTO, PLACEMENTS, candidates, place

__all__ = ["AUTO", "PLACEMENTS", "candidates", "place"]
