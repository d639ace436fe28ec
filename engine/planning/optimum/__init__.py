"""Compute-optimal N and D of a law, with and without limits."""
