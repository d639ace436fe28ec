"""Warnings about a fit, and its residuals. No module here computes a fit."""
