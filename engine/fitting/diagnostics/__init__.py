"""Warnings about a fit, and its residuals. Nothing is fitted in this folder."""
