"""Warnings, residuals and information criteria of a fit. Nothing is fitted here."""
