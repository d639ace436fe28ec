"""Prices, limits and compute rules of a plan, and the fields in which they are typed."""
