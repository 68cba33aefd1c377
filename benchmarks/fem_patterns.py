"""Finite-element patterns of the sizes the ConSet text gives, over 64 parts.

The meshes are those of its reproduction.

m11k: METIS. c10k, c100k: coordinate bisection. q20k: 20,000 hexahedra, 40x25x20 or 50x40x10, METIS.
"""

from __future__ import annotations

from conset.pattern.pattern import Pattern
from conset_papers.conset_iwarp.finite_elements import cut, halo, make_box, make_mesh
from conset_papers.conset_iwarp.machine import WORD_B as WORD

__all__ = ["WORD", "fem_patterns"]


def fem_patterns() -> dict[str, Pattern]:
    """Name → halo exchange between 64 parts; sizes in bytes of 4-byte words."""
    parts = {"m11k": "metis", "c10k": "bisection", "c100k": "bisection"}
    meshes = {name: make_mesh(name) for name in parts}
    meshes |= {
        "q20k " + "x".join(map(str, sides)): make_box(sides)
        for sides in ((40, 25, 20), (50, 40, 10))
    }
    return {
        name: halo(mesh, cut(mesh, parts.get(name, "metis")), name) for name, mesh in meshes.items()
    }
