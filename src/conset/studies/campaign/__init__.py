"""Campaigns: a matrix of cases, measured or simulated.

In which the choice of conset is judged beside all else.
"""
