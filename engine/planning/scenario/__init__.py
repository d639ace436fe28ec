"""Prices and limits of a plan."""
