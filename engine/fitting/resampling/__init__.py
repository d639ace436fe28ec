"""Methods to draw the resamples of a fit, priors on parameters, and the confidence curve of a floor."""
