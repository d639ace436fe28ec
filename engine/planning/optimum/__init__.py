"""The compute-optimal allocation of a law, with and without limits."""
