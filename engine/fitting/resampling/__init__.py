"""Resamples of a fit, priors, and the confidence of a floor."""
