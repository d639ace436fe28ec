"""Runs and training curves as the solver reads them: checked, clustered, smoothed."""
