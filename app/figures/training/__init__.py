"""Figures of training curves and cells."""
