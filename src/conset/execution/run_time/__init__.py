"""Schedules that the ranks of a communicator make while they run."""
