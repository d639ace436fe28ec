"""Warnings and residuals of a fit. Nothing is fitted here."""
