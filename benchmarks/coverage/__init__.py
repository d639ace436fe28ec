"""How often the intervals of a fit hold the truth: simulated tables with known truth, by design, noise and method."""
