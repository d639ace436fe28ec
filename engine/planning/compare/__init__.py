"""Saved plans side by side under one scenario of prices."""
