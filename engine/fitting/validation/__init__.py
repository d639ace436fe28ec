"""Predictions of runs that were excluded from a fit, to compare laws with baselines and with each other."""
