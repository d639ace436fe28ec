"""Coverage of the intervals of a fit: simulated tables with known truth, by design, noise and method."""
