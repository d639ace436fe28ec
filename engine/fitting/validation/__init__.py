"""Predictions for runs that were left out: laws against baselines and against each other."""
