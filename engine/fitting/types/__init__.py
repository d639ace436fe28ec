"""Data types of a fit: specification, parameters, intervals, warnings and result. No module here computes a fit."""
