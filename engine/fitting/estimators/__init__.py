"""Estimators: one module for each way from a sample to parameters with resamples."""
