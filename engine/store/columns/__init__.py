"""Columns of a run table: profiles of the values, suggested roles, units, and conversions of units."""
