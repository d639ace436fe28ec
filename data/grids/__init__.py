"""Grids trained by Isoplan, each with its request file."""
