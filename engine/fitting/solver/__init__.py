"""Minimisation of an objective: problems, derivatives, starts, compiled kernels. No resampling."""
