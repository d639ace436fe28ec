"""Estimators: methods to fit the parameters of a law and to compute their resamples."""
