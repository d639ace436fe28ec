"""Sections of the page Recommender."""
