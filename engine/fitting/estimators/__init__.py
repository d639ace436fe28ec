"""Estimators of the parameters of a law and of their resamples; each method has its own module."""
