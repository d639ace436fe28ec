"""The Plan page: one module per question, and the parts that all questions use: prices, limits and compute rule."""
