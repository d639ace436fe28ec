"""Coverage of the intervals of a fit, measured on simulated tables with known true parameters.

The coverage is reported for each table design, noise and interval method.
"""
