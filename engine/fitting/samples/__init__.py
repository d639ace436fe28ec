"""Preparation of runs and training curves for the solver: they are checked, clustered and smoothed."""
