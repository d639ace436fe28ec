"""Sampling of the phase space in which amplitudes are evaluated."""
