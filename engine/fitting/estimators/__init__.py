"""Estimators of parameters and resamples, one module for each method."""
