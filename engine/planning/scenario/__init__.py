"""Prices, limits and compute rules of a plan, and their input fields."""
