"""Prices, limits and compute rules of a plan."""
