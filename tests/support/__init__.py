"""Helpers of the tests: hand-made inputs, slow versions of algorithms, mutants, random machines."""
