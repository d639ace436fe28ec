"""Columns of a run table: profiles, guessed roles, units, conversions. Pure but for the profiles."""
