"""Benchmarks of reliability: hostile input, killed processes, faults of the disk and the clock, many users at once."""
