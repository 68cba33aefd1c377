"""Writes which rank has each element of a mesh, a line each, for programs without NumPy.

Usage: python write_parts.py LAYOUT.npz OUT.part (a layout of
`conset compile MESH --parts N --layout LAYOUT.npz`)
"""

import sys

import numpy as np

import conset
from conset.base.files import replacing

if __name__ == "__main__":
    layout, out = sys.argv[1:]
    with replacing(out) as temporary:
        np.savetxt(temporary, conset.read_layout(layout).part, fmt="%d")
