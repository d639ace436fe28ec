"""Preparation of data for the solver: checks and clusters of runs, and smoothing of training curves."""
