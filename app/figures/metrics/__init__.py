"""Figures of metric agreement."""
