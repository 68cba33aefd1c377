"""Exchanges measured beside each other in one MPI job.

Patterns, libraries of exchanges, the job, its tables.
"""
