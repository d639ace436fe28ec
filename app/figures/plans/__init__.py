"""Figures of plans and their comparison."""
