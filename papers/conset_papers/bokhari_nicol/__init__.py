"""Balancing contention and synchronization on the Intel Paragon, IEEE Concurrency 5 (1997)."""
