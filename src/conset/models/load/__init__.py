"""Latency over load: random traffic at rising rates, point by point, on the flit model."""
