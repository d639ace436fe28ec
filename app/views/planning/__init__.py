"""The Plan page, a module a question, and what they share: machine, prices, limits and compute rule."""
