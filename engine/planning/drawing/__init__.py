"""What the figures of surfaces, sweeps and plans draw, as arrays."""
