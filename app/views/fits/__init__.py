"""Sections of the pages Fit and Explore."""
