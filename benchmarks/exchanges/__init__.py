"""Exchanges measured beside each other in one MPI job: patterns, libraries of exchanges, the job, its tables."""
