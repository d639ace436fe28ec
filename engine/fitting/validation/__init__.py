"""Predictions for runs that were left out: laws compared with baselines and with each other."""
