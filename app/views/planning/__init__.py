"""The Plan page, one module per question, and their shared parts: machine, prices, limits and compute rule."""
