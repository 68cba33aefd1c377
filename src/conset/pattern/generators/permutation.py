"""Permutation: every rank sends to one and receives from one, at random."""

from __future__ import annotations

from conset.pattern.generators.partners import Partners, Setting, partners_of_map


def generate_permutation(setting: Setting) -> Partners:
    """A permutation drawn uniformly from all; its fixed points (one on average) stay local."""
    return partners_of_map(setting.random.permutation(setting.ranks))
