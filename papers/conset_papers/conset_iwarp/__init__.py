"""Feldmann, Stricker and Warfel: Supporting sets of arbitrary connections on iWarp (1993)."""
