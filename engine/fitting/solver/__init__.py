"""Minimisation of an objective: problems, derivatives, starting points, compiled kernels. Resampling is elsewhere."""
