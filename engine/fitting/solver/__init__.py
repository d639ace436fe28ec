"""Minimisation of the objective of a fit: problems, derivatives, starting points and compiled kernels."""
