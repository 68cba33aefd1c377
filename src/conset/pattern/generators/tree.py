"""Tree: every rank exchanges with its parent and its two children in a binary tree."""

from __future__ import annotations

import numpy as np

from conset.pattern.generators.partners import Partners, Setting, partners_of_pairs


def generate_tree(setting: Setting) -> Partners:
    """Heap numbering: the parent of rank `r` is `(r - 1) // 2`, the root is 0; every edge both ways."""
    child = np.arange(1, setting.ranks, dtype=np.int64)
    parent = (child - 1) // 2
    return partners_of_pairs(setting.ranks, np.concatenate([child, parent]), np.concatenate([parent, child]))
