"""Comparison of saved plans under one scenario of prices."""
