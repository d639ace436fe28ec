"""Compute-optimal allocation of a law, with and without limits."""
