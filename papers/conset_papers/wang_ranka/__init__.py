"""Scheduling of unstructured communication on the Intel iPSC/860, Supercomputing 1994."""
