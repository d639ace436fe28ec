"""Columns of a run table: profiles, suggested roles, units and conversions. Only the profiles read the database."""
