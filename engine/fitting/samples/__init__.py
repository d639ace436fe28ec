"""Runs and training curves in the form that the solver reads: checked, clustered, smoothed."""
