"""Columns of a run table: profiles, guessed roles, units, conversions. Pure except for the profiles."""
