"""Estimates of time, compute and disk of a grid before its launch."""
