"""Grids that our own trainers ran, each beside the file that asked for it."""
