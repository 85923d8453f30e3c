"""Benchmarks: the speed of ramet compared with the alternatives. `make bench` runs all of them."""
