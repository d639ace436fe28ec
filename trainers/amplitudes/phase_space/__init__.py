"""Random sampling of phase-space points, at which amplitudes are evaluated."""
