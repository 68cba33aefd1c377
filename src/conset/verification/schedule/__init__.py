"""Is a schedule right?

Checked from its document alone, routes expanded by code of its own: NumPy and nouns only.
"""
