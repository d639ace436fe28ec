"""Minimisation of an objective: problems, derivatives, starts and compiled kernels, but no resampling."""
