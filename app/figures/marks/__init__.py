"""Marks that several figures share: lines, bands, dots, densities."""
