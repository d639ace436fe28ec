"""Figures of runs and fitted laws."""
