"""Sections of the page Precision."""
