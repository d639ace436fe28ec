"""Arrays for the figures of surfaces, sweeps and plans."""
