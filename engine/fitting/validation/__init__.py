"""Predictions of runs that were left out of a fit, to compare laws with baselines and with each other."""
